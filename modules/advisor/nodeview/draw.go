package nodeview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// barWidth is the width of a bar in columns.
const barWidth = 12

// columns of the table of nodes. Bars are drawn separately, because their colour codes have no width.
var columns = []string{"NODE", "POOL", "PLAN", "CPU", "MEMORY", "PODS", "$/HOUR", "$/MONTH", "AGE", "STATE"}

// Lines draws the sums, and a line for each node. The renderer decides about colours.
func (v View) Lines(r *lipgloss.Renderer) (head, nodes []string) {
	bold, faint := r.NewStyle().Bold(true), r.NewStyle().Faint(true)
	head = append(head, bold.Render(fmt.Sprintf("%s, %s, $%s/hour, $%s/month", count(v.Total.Nodes, "node"), count(v.Total.Pods, "pod"),
		dollars(v.Total.Hourly, 3), dollars(v.Total.Monthly, 2)))+waiting(r, v.Waiting))
	for _, held := range v.OffHours {
		head = append(head, r.NewStyle().Foreground(lipgloss.Color("4")).Render("NodePool "+printable.Text(held)))
	}
	sums := [][]string{{"POOL", "NODES", "CPU", "MEMORY", "PODS", "$/HOUR", "$/MONTH"}}
	for _, s := range append(v.Pools[:len(v.Pools):len(v.Pools)], v.Total) {
		sums = append(sums, []string{printable.Text(s.Pool), fmt.Sprint(s.Nodes), bar(r, s.CPU), bar(r, s.Memory), fmt.Sprint(s.Pods),
			dollars(s.Hourly, 3), dollars(s.Monthly, 2)})
	}
	table := align(sums)
	head = append(head, faint.Render(table[0]))
	head = append(head, table[1:]...)
	rows := [][]string{columns}
	for _, n := range v.Nodes {
		hourly, monthly := dollars(n.Hourly, 4), dollars(n.Monthly, 2)
		if !n.Priced {
			hourly, monthly = "?", "?"
		}
		rows = append(rows, []string{printable.Text(n.Name), printable.Text(n.Pool), printable.Text(n.Plan), bar(r, n.CPU), bar(r, n.Memory),
			pods(n), hourly, monthly, duration.HumanDuration(time.Duration(n.AgeSeconds) * time.Second), shown(r, n.State)})
	}
	table = align(rows)
	return append(head, "", faint.Render(table[0])), table[1:]
}

// Write draws the whole view.
func (v View) Write(w io.Writer) error {
	head, nodes := v.Lines(lipgloss.NewRenderer(w))
	_, err := io.WriteString(w, strings.Join(append(head, nodes...), "\n")+"\n")
	return err
}

// align pads the cells of each column to the widest.
func align(rows [][]string) (lines []string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-lipgloss.Width(cell)+2))
			}
		}
		lines = append(lines, line.String())
	}
	return lines
}

// bar draws a share: green below 70%, yellow below 90%, red above.
func bar(r *lipgloss.Renderer, share float64) string {
	filled := min(max(int(share*barWidth+0.5), 0), barWidth)
	colour := lipgloss.Color("2")
	switch {
	case share >= 0.9:
		colour = "1"
	case share >= 0.7:
		colour = "3"
	}
	return r.NewStyle().Foreground(colour).Render(strings.Repeat("█", filled)) + strings.Repeat("░", barWidth-filled) +
		fmt.Sprintf(" %3.0f%%", share*100)
}

func shown(r *lipgloss.Renderer, s State) string {
	colour := map[State]lipgloss.Color{Joining: "6", Consolidating: "5", Deleting: "5", Drifted: "3", Held: "4", Cordoned: "3", NotReady: "1"}
	if c, ok := colour[s]; ok {
		return r.NewStyle().Foreground(c).Render(string(s))
	}
	return string(s)
}

func waiting(r *lipgloss.Renderer, n int) string {
	if n == 0 {
		return ""
	}
	return r.NewStyle().Foreground(lipgloss.Color("3")).Render(", " + count(n, "pod") + " without a node")
}

func pods(n Node) string {
	if n.MaxPods == 0 {
		return fmt.Sprint(n.Pods)
	}
	return fmt.Sprintf("%d/%d", n.Pods, n.MaxPods)
}

func dollars(usd float64, digits int) string {
	return strings.TrimSuffix(fmt.Sprintf("%.*f", digits, usd), "."+strings.Repeat("0", digits))
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
