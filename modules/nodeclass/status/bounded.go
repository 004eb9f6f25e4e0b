package status

import (
	"strings"
	"unicode"
)

// Texts from the Linode API, and texts that repeat a user's spec, are bounded before they are stored in a class's status: the API server
// refuses an object that is too large, and then no condition would be stored.
const (
	mostMessage = 1000 // bytes of a condition's message
	mostLabel   = 128  // bytes of a name at Linode
)

// bounded is the text in printable characters, cut to at most so many bytes.
func bounded(text string, most int) string {
	const mark = "..."
	cut := len(text) > most
	if cut {
		text = text[:most-len(mark)]
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if cut {
		text += mark
	}
	return text
}
