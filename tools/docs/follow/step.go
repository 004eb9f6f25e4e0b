package follow

import (
	"regexp"
	"strings"
)

// Step is a command with the output that the page shows.
type Step struct {
	Command string
	Shown   string // "" = nothing is shown
}

// Reads reports whether the command changes nothing, so that it may be run again.
func (s Step) Reads() bool { return reading.MatchString(s.Command) }

// Watches reports whether the command runs until a reader ends it.
func (s Step) Watches() bool { return watching.MatchString(s.Command) }

var (
	reading  = regexp.MustCompile(`^(kubectl (--namespace \S+ )?(get|describe|logs|events)\b|curl (-s )?"?\$|make (-s )?status\b|grep\b)`)
	watching = regexp.MustCompile(` (--watch|-w)\b|^make logs\b|^kubectl .*logs.* (--follow|-f)\b`)
)

// Steps returns the steps of a block of code. Blocks in languages other than sh and console have no steps.
func Steps(language, text string) []Step {
	var steps []Step
	more := false // the command goes on in the next line
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		command, prompted := strings.CutPrefix(line, "$ ")
		switch {
		case language != "sh" && language != "console":
			return nil
		case more:
			steps[len(steps)-1].Command += "\n" + line
		case language == "console" && !prompted:
			if len(steps) > 0 {
				steps[len(steps)-1].Shown += line + "\n"
			}
			continue
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		default:
			steps = append(steps, Step{Command: withoutComment(command)})
		}
		more = strings.HasSuffix(line, `\`)
	}
	return steps
}

// withoutComment cuts off a comment. A # in quotes does not begin a comment.
func withoutComment(command string) string {
	for i := range command {
		before := command[:i]
		if strings.HasPrefix(command[i:], " #") && strings.Count(before, "'")%2 == 0 && strings.Count(before, `"`)%2 == 0 {
			return strings.TrimRight(before, " ")
		}
	}
	return command
}

var shapes = []struct {
	pattern *regexp.Regexp
	shape   string
}{
	{regexp.MustCompile(`\blke\d+-\d+-[0-9a-f]{12}\b`), "NODE"},
	{regexp.MustCompile(`\b(default|gpu)-[a-z0-9]{5}\b`), "${1}-CLAIM"},
	{regexp.MustCompile(`\b(inflate|karpenter)-[a-f0-9]{6,10}-[a-z0-9]{5}\b`), "${1}-POD"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`(LINODE_TOKEN=)[A-Z0-9]+`), "${1}TOKEN"},
	{regexp.MustCompile(`(?:/[^\s/:"]+)*/?(\.local/|\.bin\b)`), "$1"},
	{regexp.MustCompile(`\.local/[a-z0-9-]+/`), ".local/NAME/"},
	{regexp.MustCompile(`(CLUSTER_NAME=)\S+`), "${1}NAME"},
	{regexp.MustCompile(`(?m)^[a-z0-9-]+(: tier )`), "NAME$1"},
	{regexp.MustCompile(`(?m)^[a-z0-9-]+( is stopped)`), "NAME$1"},
	{regexp.MustCompile(`\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?(ms|s|m|h|d)\b( \(x\d+ over \S+\))?`), "DURATION"},
	{regexp.MustCompile(`\b(process|cluster|pool) \d+`), "$1 N"},
	{regexp.MustCompile(`\b\d{6,}\b`), "ID"},
	{regexp.MustCompile(`api_calls=\d+`), "api_calls=N"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// Shape replaces the parts of a text that differ from run to run, such as names and times, by fixed words.
func Shape(text string) string {
	for _, s := range shapes {
		text = s.pattern.ReplaceAllString(text, s.shape)
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Matches reports whether the printed output has the shape of the shown output.
func Matches(shown, printed string) bool {
	if Shape(shown) == "..." {
		return true
	}
	var pattern strings.Builder
	separator := ""
	for i, line := range strings.Split(Shape(shown), "\n") {
		switch {
		case line == "..." && i == 0:
			pattern.WriteString(`(.*\n)*`)
			continue
		case line == "...":
			pattern.WriteString(`(\n.*)*`)
			continue
		}
		pattern.WriteString(separator)
		separator = `\n`
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`))
	}
	matches, err := regexp.MatchString(`^`+pattern.String()+`$`, Shape(printed))
	return err == nil && matches
}
