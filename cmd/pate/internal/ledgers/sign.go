package ledgers

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
)

func newLedgerSign(g *shell.Globals) *cobra.Command {
	var key, out string
	cmd := ofLedger("sign LEDGER", "format", shell.Needs(cobra.ExactArgs(1), "key"), func(_ *cobra.Command, args []string) error {
		return signLedger(g, args[0], key, cmp.Or(out, args[0]+".sig"))
	})
	shell.Declare(cmd.Flags(), "sign", shell.To{"key": &key, "out": &out})
	return cmd
}

func signLedger(g *shell.Globals, path, keyPath, out string) error {
	target := shell.Target{Flag: "--out", Path: out, Topic: "ledger"}
	if err := target.CheckReplaceable(path, keyPath); err != nil {
		return err
	}
	key, err := readPrivateKey(keyPath)
	if err != nil {
		return err
	}
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := ledger.Verify(f, ledger.VerifyOptions{Heads: known.Of})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if sum.ID == "" {
		return shell.InputError(fmt.Errorf("%s has no id", path), "a signature contains the id of the ledger", "sign a ledger of pate", "ledger")
	}
	s, err := ledger.Sign(sum.ID, sum.Head, key)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := target.Write(0o644, func(w io.Writer) error { return shell.WriteJSON(w, s) }); err != nil {
		return err
	}
	if sum.Torn != "" {
		g.Warn(fmt.Sprintf("the last line of %s is cut off and not signed", path))
	}
	g.Logf("%s: the %d lines of %s are signed", out, s.Lines, path)
	return nil
}

func readPrivateKey(path string) (key ed25519.PrivateKey, err error) {
	text, err := durable.ReadSecret(path)
	if err == nil {
		key, err = parseKey[ed25519.PrivateKey](text, "PRIVATE KEY", x509.ParsePKCS8PrivateKey)
	}
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("--key %s: %w", path, err),
			"the file must hold an unencrypted Ed25519 private key (PEM, PKCS#8) that only you can read",
			"create a key with (umask 077; openssl genpkey -algorithm ed25519 -out private.pem), or protect your key with chmod 600", "ledger")
	}
	return key, nil
}

func parseKey[K any](text []byte, kind string, parse func(der []byte) (any, error)) (key K, err error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return key, errors.New("not a PEM file")
	case block.Type != kind:
		return key, fmt.Errorf("the PEM block is %q, not %q", block.Type, kind)
	case len(bytes.TrimSpace(rest)) > 0:
		return key, errors.New("there is text after the key")
	}
	parsed, err := parse(block.Bytes)
	if err != nil {
		return key, err
	}
	key, ok := parsed.(K)
	if !ok {
		return key, errors.New("the key is of another algorithm")
	}
	return key, nil
}

const maxSmall = 1 << 12

type signedBy struct {
	signature     ledger.Signature
	key           ed25519.PublicKey
	path, keyPath string
}

func readSigned(path, keyPath string) (*signedBy, error) {
	s := signedBy{path: path, keyPath: keyPath}
	text, err := readSmall(path, maxSmall)
	if err == nil {
		// The decoder accepts repeated fields and names in any case. So encode the result, and compare texts.
		var again bytes.Buffer
		if err = json.Unmarshal(text, &s.signature); err == nil {
			if err = shell.WriteJSON(&again, s.signature); err == nil && !bytes.Equal(again.Bytes(), text) {
				err = errors.New("the file does not have the form that pate ledger sign writes")
			}
		}
	}
	if err != nil {
		if wrong := shell.WrongKind(path, "a signature", "ledger", filekind.Signature, filekind.JSON); wrong != nil {
			return nil, wrong
		}
		return nil, shell.InputError(fmt.Errorf("--signature %s: %w", path, err), "the signature must be a file that pate ledger sign wrote",
			"check its name", "ledger")
	}
	text, err = readSmall(keyPath, maxSmall)
	if err == nil {
		s.key, err = parseKey[ed25519.PublicKey](text, "PUBLIC KEY", x509.ParsePKIXPublicKey)
	}
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("--public-key %s: %w", keyPath, err), "the file must hold the Ed25519 key of the signer (PEM, PKIX)",
			"ask the signer for the output of openssl pkey -in private.pem -pubout -out public.pem", "ledger")
	}
	return &s, nil
}

func (s *signedBy) refusal(err error) error {
	if !errors.Is(err, ledger.ErrSignature) {
		return err
	}
	return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("%s: %w", s.path, err),
		Why:   fmt.Sprintf("nothing shows that the holder of the key in %s signed this ledger", s.keyPath),
		Fix:   "ask the signer for the signature, the public key and the ledger that belong together",
		Topic: "ledger"}
}

func (s *signedBy) words(lines int64) string {
	text := fmt.Sprintf("the holder of the key in %s signed this ledger when it had %d lines", s.keyPath, s.signature.Lines)
	if more := lines - s.signature.Lines; more > 0 {
		text += fmt.Sprintf("; the %d after them are not signed", more)
	}
	return text
}
