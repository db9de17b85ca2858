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
// The last line of a page is a record of the ledgers' heads, the claim, the program that wrote the page, and
// a digest. The digest is the SHA-256 of the page with 64 zeros in place of the digest. [Check] reads the
// lines of a ledger that the page covers, and writes the page again. If the same build wrote both pages,
// they must be equal byte for byte. Otherwise Check compares only the digest, the head and the claim. For a
// page about several ledgers, Check compares only the digest and the head. Anyone can compute a digest. So
// Check accepts a forged page of another build if its head and claim are right.
//
// # Guarantee
//
// Claims are upper bounds (see [ledger.Summary.Claim]). [New] fails if [ledger.Verify] fails.
//
// # Caveats
//
// A ledger records charges, not actions. It cannot show that mechanisms ran as charged, or that nothing else
// was released. Every page mentions this.
package statement
