// Package statement writes the privacy statement of a ledger: one page in plain words, as Markdown, HTML or
// JSON, for the people whose data were used and for auditors.
//
//	file, err := os.Open("run.jsonl")
//	s, err := statement.FromReader("run.jsonl", file)
//	err = s.WriteMarkdown(os.Stdout)
//
// The sections follow NIST SP 800-226 (2025): the protected data, the strength, its meaning for an
// attacker, the mechanisms, the charges and their limits, the assumptions, and how to verify the page.
// Every number is recomputed from the ledger by package accountant, in the same way for PATE, DP-SGD and all
// other mechanisms.
//
// [New] puts several ledgers on one page, with their total cost to the same people. An [About] adds whose
// data they are and what they are used for.
//
// # Checking a page
//
// The last line of a page holds the heads of its ledgers, its claim, the program that wrote it and a digest:
// the SHA-256 of the page with 64 zeros as the digest. [Check] reads the ledger up to the page's head and
// writes the page again. A page by the same build must come out byte for byte. For a page by another version,
// whose text may differ, the digest, the head and the claim are compared. A digest has no key: if a page of
// another version was rewritten whole, only a changed ε reveals it.
//
// # Guarantee
//
// Claims are upper bounds, rounded up; see [ledger.Summary.Claim]. A ledger that does not pass
// [ledger.Verify] has no statement.
//
// # Caveats
//
// A ledger records charges, not actions. It cannot show that mechanisms ran as charged, that every release
// went through them, or that nothing else was released; the statement mentions this.
package statement
