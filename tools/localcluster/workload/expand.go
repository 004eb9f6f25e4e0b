package workload

import "strings"

// expand replaces $(NAME) by the variable's value. A name that is not set stays
// as it is written, and $$ stands for one dollar sign, as Kubernetes documents
// it for containers' values and arguments.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			break
		}
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		value, known := env[name]
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed && known:
			out.WriteString(value)
			text = after
		default:
			out.WriteByte('$')
			text = rest
		}
	}
	return out.String()
}
