package data

// long is the help of `pate data`, which errors about data point to. It is that of the
// command and no topic beside it: of two commands of one name, which one runs is not told.
const long = `Data are named by --data, or by the paths of pate train, publish and student:

  mnist            embedded in the program
  fashion-mnist    Debian package dataset-fashion-mnist, or in $PATE_DATA
  adult, abalone   $PATE_DATA/adult, $PATE_DATA/abalone (the UCI files)
  DIR              a folder with four idx files as those of MNIST, plain or .gz,
                   or of images (PNG, JPEG, GIF) in a folder for each class
  FILE.npy         features as numpy.save writes them, with --labels y.npy and
                   optionally --units u.npy; an idx file likewise
  FILE.csv         any table, plain, .gz or .zst, with --label COLUMN (a name or
                   a number from 1) and optionally --unit COLUMN; a header is
                   seen where a column is given by its name, and else --header
                   yes or no says whether there is one
  FILE.parquet     the same, with the names of its columns: texts, integers,
                   floats, truth values and dates, missing values too.
                   Timestamps, decimals, bytes and lists are refused by the name
                   of their column, unless --drop leaves it out

A table may take 1 GiB of memory, and a compressed one may hold 256 times its size
or 64 MiB. Of a Parquet file a page may have 64 MiB, and the pages of all columns
that are read at a time 512 MiB. How its rows are grouped, compressed and encoded,
and what it says of them beside them, changes nothing.

Pool and test rows are PUBLIC: nothing protects them. Of a table these are 30 %
of the units (20 % pool, 10 % test, chosen by a hash of the unit), the rest is
private; give a table in which that is acceptable. Numeric columns are scaled and
categories listed by looking at the pool alone; so are the columns that are read
aloud. Ids, free text and row numbers without a name are left out: --keep takes
them, --drop leaves others out.

Names of classes are released, so they never come from private rows: they are the
labels of public rows, or those of --class-names a,b,c (--classes N: 0 to N-1).
A private row with another label is refused, and the message is for you alone.
--other-labels drop leaves such rows out, --other-labels NAME counts them as that
class; then no label of a private row can end the command. DIR has ten digits, or as
many as its test file shows; --kind handwriting says that slant carries no meaning.

Without public rows pate compare takes --pool none or --pool marginals and --ranges
FILE.csv, which says what every column may hold, a line for each; ? or an empty cell
says that values may be missing:

  age,17..90                 whole numbers, as no edge has a decimal point
  weight,0.5..250.0,?        any numbers
  gain,0..1..5000..100000    bins of your own; else 32 of equal width
  sex,Female,Male            categories

Image sets are split as in the literature: the
training images are private, the first nine tenths of the test images are the
pool, the rest score. pate dpsgd asks nothing of a pool; there its rows score too.

pate data ls lists where the named sets are on this machine, their licence, and how to
get each, with the SHA-256 of its files: exit code 5 if one is not the recorded file.
Nothing is fetched.`
