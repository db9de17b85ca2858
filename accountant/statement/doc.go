// Package statement writes the privacy statement of a ledger. A statement is one page for the people in the
// data and for auditors, as Markdown, HTML or JSON.
//
//	file, err := os.Open("run.jsonl")
//	s, err := statement.FromReader("run.jsonl", file)
//	err = s.WriteMarkdown(os.Stdout)
//
// The sections follow NIST SP 800-226 (2025): the protected data, the strength, its meaning for an attacker,
// the mechanisms, the charges and their limits, the assumptions, and how to verify the page. Package
// accountant recomputes every epsilon from the ledger.
//
// [New] combines several ledgers on one page, with their total cost. An [About] describes data and purpose.
//
// # Checking a page
//
// The last line of a page holds the heads of its ledgers, its claim, the program that wrote it and a digest.
// The digest is the SHA-256 of the page with 64 zeros in its place. [Check] reads a ledger up to its head on
// the page, and writes the page again. A page from the same build must be equal byte for byte. For a page
// from another version, Check compares the digest, the head and the claim. A digest has no key. So if a
// forged page names another version, the forgery is detected only if ε is wrong.
//
// # Guarantee
//
// Claims are upper bounds (see [ledger.Summary.Claim]). [New] fails if [ledger.Verify] fails.
//
// # Caveats
//
// A ledger records charges, not actions. It cannot show that mechanisms ran as charged or that nothing else
// was released. The statement mentions this.
package statement
