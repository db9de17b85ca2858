// Package statement writes the privacy statement of a ledger: one page in plain words, for those whose data
// it is about and for those who audit it, as Markdown, HTML or JSON.
//
//	file, err := os.Open("run.jsonl")
//	s, err := statement.FromReader("run.jsonl", file)
//	err = s.WriteMarkdown(os.Stdout)
//
// The sections follow NIST SP 800-226 (2025): the protected data, the strength, its meaning for an
// attacker, the mechanisms, the charges and their limits, the assumptions, and how to verify the page.
// Every number is recomputed from the ledger by package accountant, alike for PATE, DP-SGD and everything
// else.
//
// [New] states several ledgers on one page, with their total cost to the same people. Whose data, and what
// for, is an [About].
//
// # Checking a page
//
// The last line of a page holds the heads of its ledgers, its claim, the program that wrote it and a
// digest: the SHA-256 of the page in which the digest is 64 zeros. [Check] finds the ledger's lines that
// the page was written from and writes it again. A page of the same build must come out byte for byte; of
// one by another version, whose words may differ, the digest, the head and the claim are compared. A digest
// has no key: that a page of another version was rewritten whole is found by its ε alone.
//
// # Guarantee
//
// Claims are upper bounds, rounded up; see [ledger.Summary.Claim]. A ledger that does not pass
// [ledger.Verify] has no statement.
//
// # Caveats
//
// A ledger holds charges, not actions. That mechanisms ran as charged, that every release went through
// them, and that nothing else left, is outside; the statement mentions it.
package statement
