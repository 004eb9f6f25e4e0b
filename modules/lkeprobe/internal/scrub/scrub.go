// Package scrub replaces in a report what names an account: IDs, addresses,
// labels, tags, keys, mail addresses, names of users, tokens and passwords.
//
// It works the safe way round. In the JSON of an exchange only values that are
// known to be the API's own words stay as they are: plans, regions, versions,
// statuses, switches, sizes. Every other text becomes a pseudonym, the same one
// for the same text, and every ID another number, so that relations stay
// readable. The name of a key decides, so the value of an unknown field is
// replaced. Forms that are facts of LKE stay: a node's label, its ID, LKE's tags.
//
// Texts (reasons of refusals, facts) are searched for what exchanges contained,
// and for addresses, mail addresses and long numbers. Safe for concurrent use.
package scrub

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Scrubber replaces, and remembers what it replaced.
type Scrubber struct {
	mu      sync.Mutex
	secrets []string
	keep    map[string]bool
	ids     map[string]int
	words   map[string]string
	kinds   map[string]int
}

// New makes a scrubber. Secrets are replaced wherever they occur; texts to keep
// (the tags of the run, say) stay.
func New(secrets, keep []string) *Scrubber {
	s := &Scrubber{keep: map[string]bool{}, ids: map[string]int{}, words: map[string]string{}, kinds: map[string]int{}}
	for _, secret := range secrets {
		if secret != "" {
			s.secrets = append(s.secrets, secret)
		}
	}
	for _, text := range keep {
		s.keep[text] = true
	}
	return s
}

var (
	mail     = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+`)
	ipv4     = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(/\d{1,2})?\b`)
	ipv6     = regexp.MustCompile(`(?i)(\b[0-9a-f]{1,4}|:)(:[0-9a-f]{0,4}){2,7}(/\d{1,3})?`)
	host     = regexp.MustCompile(`(?i)\b(https?://)?([a-z0-9-]+\.)+(linodelke\.net|members\.linode\.com|linodeusercontent\.com|linodeobjects\.com)\b(:\d+)?`)
	uuid     = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12,}\b`)
	workload = regexp.MustCompile(`\blke(\d+)-(\d+)-([0-9a-f]{12})\b`)
	nodeID   = regexp.MustCompile(`\b(\d+)-([0-9a-f]{12})\b`)
	lkeTag   = regexp.MustCompile(`^(lke|nodepool=)(\d+)$`)
	digits   = regexp.MustCompile(`\d{4,}`)
	word     = regexp.MustCompile(`[\pL\pN][\pL\pN_.-]*[\pL\pN]`)
)

// Text replaces in a text for people: secrets, addresses, and whatever was
// replaced in an exchange before.
func (s *Scrubber) Text(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text(text)
}

func (s *Scrubber) text(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "(secret)")
	}
	if w, known := s.words[text]; known {
		return w
	}
	text = mail.ReplaceAllString(text, "(mail)")
	text = host.ReplaceAllString(text, "(host)")
	text = uuid.ReplaceAllString(text, "(uuid)")
	text = ipv4.ReplaceAllString(text, "(address)")
	text = ipv6.ReplaceAllStringFunc(text, address)
	text = s.names(text)
	text = word.ReplaceAllStringFunc(text, func(w string) string {
		if p, known := s.words[w]; known {
			return p
		}
		return w
	})
	return digits.ReplaceAllStringFunc(text, func(n string) string {
		if id, known := s.ids[n]; known {
			return strconv.Itoa(id)
		}
		if len(n) >= 6 {
			return "(number)"
		}
		return n
	})
}

// address spares times of day and durations, which look alike.
func address(text string) string {
	if strings.Count(text, ":") >= 4 || strings.Contains(text, "::") {
		return "(address)"
	}
	return text
}

// names replaces the parts of LKE's own names and keeps their form.
func (s *Scrubber) names(text string) string {
	text = workload.ReplaceAllStringFunc(text, func(name string) string {
		m := workload.FindStringSubmatch(name)
		return fmt.Sprintf("lke%d-%d-%012d", s.id(m[1]), s.id(m[2]), s.id(m[3]))
	})
	return nodeID.ReplaceAllStringFunc(text, func(name string) string {
		m := nodeID.FindStringSubmatch(name)
		if n, err := strconv.Atoi(m[1]); err == nil && s.replaced(n) {
			return name // by the line above
		}
		return fmt.Sprintf("%d-%012d", s.id(m[1]), s.id(m[2]))
	})
}

// replaced reports whether a number is a replacement already.
func (s *Scrubber) replaced(n int) bool { return n >= firstID && n < firstID+len(s.ids) }

// Replacements begin here: small enough to be no real ID, large enough to be no
// count.
const firstID = 1001

// id gives the replacement of an ID.
func (s *Scrubber) id(original string) int {
	if n, err := strconv.Atoi(original); err == nil && s.replaced(n) {
		return n
	}
	id, known := s.ids[original]
	if !known {
		id = firstID + len(s.ids)
		s.ids[original] = id
	}
	return id
}

// pseudonym gives the replacement of a text of one kind.
func (s *Scrubber) pseudonym(kind, original string) string {
	switch {
	case original == "" || s.keep[original]:
		return original
	case lkeTag.MatchString(original):
		m := lkeTag.FindStringSubmatch(original)
		return m[1] + strconv.Itoa(s.id(m[2]))
	case workload.MatchString(original) && workload.FindString(original) == original, nodeID.FindString(original) == original:
		return s.names(original)
	}
	if w, known := s.words[original]; known {
		return w
	}
	s.kinds[kind]++
	w := fmt.Sprintf("%s-%d", kind, s.kinds[kind])
	s.words[original] = w
	return w
}

// Path replaces IDs in the path of a request. Names of the catalog stay.
func (s *Scrubber) Path(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	public := catalog(path)
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case strings.HasPrefix(strings.ToLower(part), "private%2f"):
			parts[i] = part[:len("private%2f")] + strconv.Itoa(s.id(part[len("private%2f"):]))
		case nodeID.FindString(part) == part && part != "":
			parts[i] = s.names(part)
		case part != "" && strings.Trim(part, "0123456789") == "":
			if part != "0" {
				parts[i] = strconv.Itoa(s.id(part))
			}
		case i > 0 && parts[i-1] == "tags" && !public:
			parts[i] = s.pseudonym("tag", part)
		}
	}
	return strings.Join(parts, "/")
}
