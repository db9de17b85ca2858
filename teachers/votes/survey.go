package votes

import "context"

// survey is what a file holds if its classes are not the ones that were stated. It is made when a cell is
// no vote, to say what would mend the file, and is as private as the votes.
type survey struct {
	whole, missing, shares, nan, text, other int64 // cells
	least, most                              int   // of the whole numbers
	numbered                                 bool  // column 1 counts the rows
}

// surveyLimit bounds the whole numbers that a survey tells apart.
const surveyLimit = 1 << 30

// survey reads all cells once more.
func (s *Source) survey(ctx context.Context) (survey, error) {
	wide := *s
	wide.dom = domain{low: Abstention, limit: surveyLimit}
	out := survey{least: surveyLimit, most: Abstention, numbered: s.shape.rows > 2 && s.shape.cols > 1}
	begin := 0
	err := eachBlock(ctx, &wide, 0, s.shape.rows, func(first int, cells []int32, _ int) error {
		if first == 0 {
			begin = int(cells[0])
			out.numbered = out.numbered && (begin == 0 || begin == 1)
		}
		for i := 0; i < len(cells) && out.numbered; i += s.shape.cols {
			out.numbered = int(cells[i]) == begin+first+i/s.shape.cols
		}
		for _, v := range cells {
			switch v := int(v); {
			case v >= 0:
				out.whole++
				out.least, out.most = min(out.least, v), max(out.most, v)
			case v == Abstention:
				out.missing++
			case v == badShare:
				out.shares++
			case v == badNaN:
				out.nan++
			case v == badText:
				out.text++
			default:
				out.other++
			}
		}
		return nil
	})
	return out, err
}
