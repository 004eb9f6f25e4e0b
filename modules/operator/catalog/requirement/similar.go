package requirement

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// The number of values that a hint lists.
const shown = 6

// hint names the values of plans that are close to a requirement. It returns "" if there are none.
func hint(selector Selector, known []string) string {
	switch numbers := numeric(known); {
	case len(known) == 0:
		return "No plan has this label"
	case len(known) <= 2:
		return "Existing values: " + strings.Join(known, ", ")
	case len(numbers) == len(known):
		return nearNumbers(selector, numbers)
	}
	if similar := Similar(selector.Values, known); len(similar) > 0 {
		return "Similar: " + strings.Join(similar, ", ")
	}
	if more := len(known) - shown; more > 0 {
		return fmt.Sprintf("Existing values: %s and %d more", strings.Join(known[:shown], ", "), more)
	}
	return "Existing values: " + strings.Join(known, ", ")
}

// nearNumbers names the largest or smallest number of all plans for a bound (Gt, Lt), and the neighbours of a number that no plan has.
func nearNumbers(selector Selector, known []int) string {
	switch selector.Operator {
	case corev1.NodeSelectorOpGt, karpv1.NodeSelectorOpGte:
		return fmt.Sprintf("The largest is %d", known[len(known)-1])
	case corev1.NodeSelectorOpLt, karpv1.NodeSelectorOpLte:
		return fmt.Sprintf("The smallest is %d", known[0])
	}
	var near []string
	for _, wanted := range numeric(selector.Values) {
		at, _ := slices.BinarySearch(known, wanted)
		for _, i := range []int{at - 1, at} {
			if i >= 0 && i < len(known) {
				near = append(near, strconv.Itoa(known[i]))
			}
		}
	}
	if len(near) == 0 {
		return fmt.Sprintf("The values are numbers, from %d to %d", known[0], known[len(known)-1])
	}
	return "Similar: " + strings.Join(slices.Compact(near), ", ")
}

// numeric returns the numbers among texts, in their order.
func numeric(texts []string) (numbers []int) {
	for _, text := range texts {
		if n, err := strconv.Atoi(text); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Similar returns the known texts that differ least from a wanted text: by the number of characters to change, then by the number in the
// text. Example: g6-standard-3 is near g6-standard-2 and g6-standard-4. Texts that differ in more than a third of their characters are
// not similar.
func Similar(wanted, known []string) (similar []string) {
	for _, text := range wanted {
		type candidate struct {
			text             string
			edits, inNumbers int
		}
		var candidates []candidate
		for _, other := range known {
			if edits := distance(strings.ToLower(text), strings.ToLower(other)); edits <= max(2, len(text)/3) && edits < len(text) {
				candidates = append(candidates, candidate{other, edits, apart(text, other)})
			}
		}
		order := func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.inNumbers, b.inNumbers))
		}
		slices.SortStableFunc(candidates, order)
		for _, c := range candidates {
			if order(c, candidates[0]) == 0 && len(similar) < shown && !slices.Contains(similar, c.text) {
				similar = append(similar, c.text)
			}
		}
	}
	return similar
}

var lastNumber = regexp.MustCompile(`(\d+)\D*$`)

// apart returns the difference between the last numbers of two texts.
func apart(a, b string) int {
	x, y := lastNumber.FindStringSubmatch(a), lastNumber.FindStringSubmatch(b)
	if x == nil || y == nil {
		return 0
	}
	m, _ := strconv.Atoi(x[1])
	n, _ := strconv.Atoi(y[1])
	return max(m-n, n-m)
}

// distance returns the number of characters to insert, delete or replace to turn one text into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
