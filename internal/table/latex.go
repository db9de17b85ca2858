package table

import "strings"

// EscapeLaTeX returns LaTeX that prints the text.
func EscapeLaTeX(text string) string {
	return strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
		"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`,
		"±", `$\pm$`, "ε", `$\varepsilon$`, "δ", `$\delta$`, "σ", `$\sigma$`).Replace(text)
}

func (t Table) latex(b *strings.Builder) {
	b.WriteString(`\begin{tabular}{`)
	for j := range t.Header {
		if t.left(j) {
			b.WriteString("l")
		} else {
			b.WriteString("r")
		}
	}
	b.WriteString("}\n\\hline\n")
	line := func(cells []string) {
		for j, c := range cells {
			if j > 0 {
				b.WriteString(" & ")
			}
			b.WriteString(EscapeLaTeX(c))
		}
		b.WriteString(" \\\\\n")
	}
	line(t.Header)
	b.WriteString("\\hline\n")
	for _, row := range t.Rows {
		line(row)
	}
	b.WriteString("\\hline\n\\end{tabular}\n")
}
