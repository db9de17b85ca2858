// Package manifest tells whether the teachers of an ensemble are disjoint, from
// keyed hashes of record ids, without showing the ids.
//
// Every cost in package aggregate rests on one unit of privacy (a record, or a
// person with all their records) belonging to one teacher. Where the private
// data lie in silos, nobody may compare their ids. So the silos share a random
// [Salt]; each writes HMAC-SHA256 of its unit ids under it, cut to 128 bits
// ([HashIDs]); and whoever puts the votes together compares the hashes ([Check]).
//
// # Guarantee
//
// Who does not have the salt learns from a manifest how many units each silo has
// and which silos share how many, and nothing about an id: HMAC-SHA256 is taken
// to be a pseudorandom function. Two different ids among n collide, and look
// shared, with a chance below n²/2^129.
//
// A manifest may be bound to votes ([Join]). It then holds HMAC-SHA256 of their hash
// under the salt, not the hash: there are few small matrices of votes, and who sees
// a bare hash can try them all. So the votes too are hidden from who has no salt.
//
// # Caveats
//
// Who has the salt can test any id they can guess: for names, or numbers that are
// counted up, that is all of them. Keep the salt among the silos and from whoever
// collects the manifests, and destroy it when they are written; binding a manifest to
// votes, and testing that, is for a silo to do. The test is as
// good as the ids: one person under two spellings is two units. Disjointness is
// no proof that a silo trained on the records that it lists.
//
// # Use
//
//	salt, err := manifest.NewSalt()
//	silo, err := manifest.HashIDs(ids, "hospital-a", salt)
//	err = manifest.Write(w, manifest.Head{Unit: "patient", SaltID: salt.ID()}, silo)
//	report, err := manifest.Check(ctx, []string{"hospital-a.json", "hospital-b.json"})
package manifest
