package accountant

// The accountants of package theorems, which imports this one: TestMain, of the
// external tests, hands them to the internal ones.
var (
	NewBasic, NewOptimal, NewMoments func(Relation) (Accountant, error)
	NewDworkRoth, NewKairouzOh       func(Relation) (Accountant, error)
	NewAdvanced                      func(Relation) (Accountant, error)
	NewZCDP                          func(Relation, Conversion) (Accountant, error)
)
