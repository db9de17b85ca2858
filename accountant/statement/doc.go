// Package statement writes the privacy statement of a ledger: one page in Markdown, HTML or JSON, for
// auditors and for the people in the data.
//
//	file, err := os.Open("run.jsonl")
//	s, err := statement.FromReader("run.jsonl", file)
//	err = s.WriteMarkdown(os.Stdout)
//
// The sections of a page follow NIST SP 800-226 (2025). Package accountant recomputes every epsilon from the
// ledger.
//
// [New] combines several ledgers on one page, with their total cost. An [About] adds facts about data and
// purpose.
//
// # Checking a page
//
// A page ends with a record of the ledgers' heads, the claim, the program that wrote the page, and a digest.
// The digest is the SHA-256 of the page with 64 zeros in place of the digest. [Check] reads a ledger up to
// the head in the record, and writes the page again. If the same build wrote both pages, they must be equal
// byte for byte. If another build wrote the page, Check compares only the digest, the head, the released
// files and the claim. For several ledgers, Check compares only the digest, the head and the released files,
// not the claim. Anyone can compute a digest. So Check accepts a forged page that names another build or
// several ledgers, if the compared values are right.
//
// # Guarantee
//
// Claims are upper bounds (see [ledger.Summary.Claim]). [New] fails if [ledger.Verify] fails.
//
// # Caveats
//
// A ledger records charges, not actions. A ledger cannot show that mechanisms ran as charged, or that nothing
// else was released.
package statement
