package shell

import (
	"fmt"
	"strings"

	"github.com/pate-go/pate/internal/filekind"
)

// instead says what to do with a file of a kind where another one is wanted.
var instead = map[filekind.Kind]string{
	filekind.Empty:     "whatever wrote it did not finish: make it again",
	filekind.Folder:    "name a file in it",
	filekind.Parquet:   "in Python: pandas.read_parquet(FILE).to_csv('file.csv', index=False)",
	filekind.Arrow:     "in Python: pandas.read_feather(FILE).to_parquet('file.parquet', index=False)",
	filekind.HDF5:      "in Python: pandas.read_hdf(FILE).to_csv('file.csv', index=False)",
	filekind.NPY:       "in Python: numpy.savetxt('file.csv', numpy.load(FILE), delimiter=',', fmt='%g')",
	filekind.Pickle:    "in Python: numpy.save('file.npy', pickle.load(open(FILE, 'rb')))",
	filekind.Gzip:      "unpack it: gzip -d FILE",
	filekind.Zstandard: "unpack it: zstd -d FILE",
	filekind.Zip:       "unpack it; of an .npz: numpy.save('file.npy', numpy.load(FILE)['arr_0']), of an .xlsx: save it as CSV",
	filekind.UTF16:     "save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE",
	filekind.Ledger:    "for what it spent: pate ledger show FILE; as a page: pate statement FILE",
	filekind.Head:      "it belongs to the ledger beside it: leave out the .head",
	filekind.Key:       "keep it secret, and name another file",
	filekind.Model:     "for its answers: pate dpsgd predict FILE",
	filekind.Labels:    "which entry of a ledger it is: pate ledger verify LEDGER --labels FILE",
	filekind.Statement: "whether it is that of a ledger: pate ledger verify LEDGER --statement FILE",
	filekind.Events:    "what they cost: pate account FILE",
}

// WrongKind says of a file that was wanted to be something, such as "a ledger", what it is
// instead; nil if that is not seen from its first bytes, or is one of right.
func WrongKind(path, wanted, topic string, right ...filekind.Kind) error {
	is := filekind.Of(path)
	if is == filekind.Unknown || is == filekind.Binary {
		return nil
	}
	for _, kind := range right {
		if is == kind {
			return nil
		}
	}
	fix, known := instead[is]
	if !known {
		fix = "name another file"
	}
	return InputError(fmt.Errorf("%s is %s, not %s", path, is, wanted), "nothing was read from it or charged",
		strings.ReplaceAll(fix, "FILE", pathIn(is, path)), topic)
}

// pathIn writes a path for the advice about a kind: quoted for Python or for a shell.
func pathIn(is filekind.Kind, path string) string {
	switch is {
	case filekind.Parquet, filekind.Arrow, filekind.HDF5, filekind.NPY, filekind.Pickle, filekind.Zip:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(path, `\`, `\\`), "'", `\'`) + "'"
	}
	return ShellWord(path)
}
