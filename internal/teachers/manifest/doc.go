// Package manifest checks whether the teachers of an ensemble are disjoint, from keyed hashes of record ids
// and without showing the ids.
//
// Every cost in package aggregate rests on one rule: one unit of privacy (a record, or a person with all
// their records) belongs to one teacher. If the private data lie in silos, nobody may compare their ids.
// Therefore the silos share a random [Salt]. Each silo writes HMAC-SHA256 of its unit ids under the salt, cut
// to 128 bits ([HashIDs]). The party that combines the votes compares the hashes ([Check]).
//
// # Guarantee
//
// Consider a reader without the salt. From a manifest this reader learns the number of units of each silo and
// of each pair of silos, and nothing about an id. This assumes that HMAC-SHA256 is a pseudorandom function.
// Among n ids, two different ids collide, and appear to be shared, with probability below n²/2^129.
//
// A manifest may be bound to votes ([Join]). It then holds HMAC-SHA256 of their hash under the salt, not the
// hash itself. A hash without a key could be inverted for a small matrix of votes by trying all matrices. The
// keyed hash also hides the votes from a reader without the salt.
//
// # Caveats
//
//   - A party with the salt can test any id that it can guess. Names and consecutive numbers can all be
//     guessed. Keep the salt within the silos and away from the party that collects the manifests, and
//     destroy it after the manifests are written.
//   - A silo has to bind a manifest to votes, and to test the binding.
//   - The test is only as good as the ids: one person with two spellings is two units.
//   - Disjointness does not prove that a silo trained on the records that it lists.
//
// # Use
//
//	salt, err := manifest.NewSalt()
//	silo, err := manifest.HashIDs(ids, "hospital-a", salt)
//	err = manifest.Write(w, manifest.Head{Unit: "patient", SaltID: salt.ID()}, silo)
//	report, err := manifest.Check(ctx, []string{"hospital-a.json", "hospital-b.json"})
package manifest
