package reference

import "strings"

// table renders a table of Markdown. Cells are Markdown; table escapes the bars in them.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			b.WriteString(" " + strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	line(header)
	b.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// code renders a text as code. An empty text stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func codes(texts []string) string {
	marked := make([]string, 0, len(texts))
	for _, text := range texts {
		marked = append(marked, code(text))
	}
	return strings.Join(marked, ", ")
}

// sentence returns the text with a capital at its start and a full stop at its end.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
