// Package manifest checks that the teachers of an ensemble have disjoint data. It compares keyed hashes of
// record ids and does not show the ids.
//
// All costs in package aggregate assume that a privacy unit belongs to one teacher. A unit is a record, or a
// person with all records. If the private data lie in silos, nobody may compare the ids. Therefore the silos
// use a common random [Salt]. Each silo writes hashes of its unit ids: HMAC-SHA256 under the salt, cut to 128
// bits ([HashIDs]). The party that joins the votes compares the hashes ([Check]).
//
// # Guarantee
//
// From a manifest, a reader without the salt learns only the number of units of each silo and of each pair of
// silos. This assumes that HMAC-SHA256 is a pseudorandom function. Among n ids, two different ids collide and
// appear equal with probability below n²/2^129.
//
// A manifest may be bound to votes by [Join]. It then holds the HMAC-SHA256 of the votes' hash under the
// salt. A hash without a key would reveal a small matrix of votes, because a reader could try all matrices.
//
// # Caveats
//
//   - A party with the salt can test any id that it can guess, such as names and consecutive numbers. Keep
//     the salt within the silos. Do not give it to the party that collects the manifests. Destroy the salt
//     after the manifests are written.
//   - Only a silo can bind a manifest to votes or test the binding.
//   - One person with two spellings of the id is two units.
//   - A manifest does not prove that a silo trained on the listed records.
//
// # Use
//
//	salt, err := manifest.NewSalt()
//	silo, err := manifest.HashIDs(ids, "hospital-a", salt)
//	err = manifest.Write(w, manifest.Head{Unit: "patient", SaltID: salt.ID()}, silo)
//	report, err := manifest.Check(ctx, []string{"hospital-a.json", "hospital-b.json"})
package manifest
