// Package printable makes texts of other programs safe to show: in a terminal, which would execute an escape sequence; in YAML comments,
// which a control character such as NEL would end; and in events and conditions, which are one line of a bounded length.
//
// A character is printable if unicode.IsPrint returns true: letters, marks, numbers, punctuation, symbols and the ASCII space. Characters
// that change the direction of writing are not printable.
//
// Text replaces each character that is not printable by a space, so the number of characters stays. Message also cuts the text to 1,000
// bytes. Every program and every package that shows a text of the API, of a user or of an object uses this package. All functions are pure.
//
// Bytes that are not UTF-8 become a question mark. A text that is cut ends in three dots, which count for its length. Lines also keeps line
// feeds and tabs.
package printable

import (
	"io"
	"strings"
	"unicode"
)

// Text returns a text in which each rune that is not printable is a space.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// Message returns Text, cut to the length of a condition's or an event's message.
func Message(text string) string { return Bounded(text, 1000) }

// Bounded returns Text, cut to at most so many bytes.
func Bounded(text string, most int) string {
	const mark = "..."
	if cut := text[:min(len(text), most)]; len(cut) < len(text) {
		text = strings.ToValidUTF8(cut[:len(cut)-len(mark)], "") + mark
	}
	return strings.ToValidUTF8(Text(text), "")
}

// Lines returns a writer that passes printable runes, line feeds and tabs on to w, and a space for every other rune. Each write must
// contain whole runes, as the writes of fmt and text/tabwriter do.
func Lines(w io.Writer) io.Writer { return lines{w} }

type lines struct{ w io.Writer }

// Write implements io.Writer.
func (l lines) Write(data []byte) (int, error) {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(data), "?"))
	if _, err := io.WriteString(l.w, text); err != nil {
		return 0, err
	}
	return len(data), nil
}
