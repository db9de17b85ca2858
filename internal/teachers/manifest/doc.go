// Package manifest checks whether the teachers of an ensemble are disjoint, from keyed hashes of record ids
// and without showing the ids.
//
// Every cost in package aggregate rests on one rule: one unit of privacy (a record, or a person with all
// their records) belongs to one teacher. If the private data lie in silos, nobody may compare their ids. So
// the silos share a random [Salt]. Each silo writes HMAC-SHA256 of its unit ids under the salt, cut to 128
// bits ([HashIDs]). The party that puts the votes together compares the hashes ([Check]).
//
// # Guarantee
//
// Consider a reader without the salt. From a manifest this reader learns how many units each silo has and
// which silos share how many, and nothing about an id. This assumes that HMAC-SHA256 is a pseudorandom
// function. Two different ids among n collide, and look shared, with a chance below n²/2^129.
//
// A manifest may be bound to votes ([Join]). It then holds HMAC-SHA256 of their hash under the salt, not
// the hash itself. There are few small matrices of votes, so a reader of a bare hash could try them all.
// The keyed hash hides the votes, too, from a reader without the salt.
//
// # Caveats
//
//   - A party with the salt can test any id that it can guess. For names, or numbers that are counted up,
//     every id can be guessed. Keep the salt among the silos and from the party that collects the
//     manifests, and destroy it when they are written.
//   - Binding a manifest to votes, and testing that, is for a silo to do.
//   - The test is as good as the ids: one person under two spellings is two units.
//   - Disjointness is no proof that a silo trained on the records that it lists.
//
// # Use
//
//	salt, err := manifest.NewSalt()
//	silo, err := manifest.HashIDs(ids, "hospital-a", salt)
//	err = manifest.Write(w, manifest.Head{Unit: "patient", SaltID: salt.ID()}, silo)
//	report, err := manifest.Check(ctx, []string{"hospital-a.json", "hospital-b.json"})
package manifest
