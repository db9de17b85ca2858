// Package manifest checks that the teachers of an ensemble have disjoint data. It compares keyed hashes of
// record ids and does not show the ids.
//
// All costs in package aggregate assume that a privacy unit belongs to one teacher. A unit is one record, or
// all records of one person. Silos must not show their ids to each other. So each silo writes hashes of its
// unit ids ([HashIDs]). A hash is HMAC-SHA256 under a common random [Salt], cut to 128 bits. The party that
// joins the votes compares the hashes ([Check]).
//
// # Guarantee
//
// Assume that HMAC-SHA256 is a pseudorandom function. A reader of a manifest without the salt then learns two
// things and nothing else: the number of units of each silo, and the number of common units of silos. Among n
// ids, two different ids have equal hashes with probability below n²/2^129.
//
// [Join] binds a manifest to votes. Join stores HMAC-SHA256 of a hash of the votes, with the salt as the key.
// A hash without a key would reveal a small matrix of votes, because a reader could try all matrices.
//
// # Caveats
//
//   - A party with the salt can test every id that the party can guess, such as names and consecutive
//     numbers. Keep the salt within the silos. Do not give it to the party that collects the manifests.
//     Destroy the salt after the manifests are written.
//   - Only a silo can bind a manifest to votes or test the binding.
//   - A person with two spellings of the id counts as two units.
//   - A manifest does not prove that a silo trained on the listed records.
//
// # Use
//
//	salt, err := manifest.NewSalt()
//	silo, err := manifest.HashIDs(ids, "hospital-a", salt)
//	err = manifest.Write(w, manifest.Head{Unit: "patient", SaltID: salt.ID()}, silo)
//	report, err := manifest.Check(ctx, []string{"hospital-a.json", "hospital-b.json"})
package manifest
