package whatif

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes a report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "Region %s, %s. Prices: %s.\n\n", r.Region, plural(r.Pods, "pod"), r.Prices)
	section(table, "TODAY", r.Today, r.TodayMonthly)
	section(table, "WITH KARPENTER", r.Then, r.ThenMonthly)
	fmt.Fprintf(table, "%s\n", r.Verdict())
	if text := r.Range(); text != "" {
		fmt.Fprintf(table, "%s\n", text)
	}
	if c := r.Consolidation; c.Commands > 0 {
		fmt.Fprintf(table, "Consolidation: from %s for $%s, saved $%s a month in %s.\n", plural(c.BeforeNodes, "node"), money(c.BeforeMonthly),
			money(c.Saved), plural(c.Commands, "step"))
	}
	for _, held := range r.Held {
		fmt.Fprintf(table, "Consolidation leaves %s alone: %s\n", plural(held.Nodes, "node"), held.Reason)
	}
	if len(r.Unplaced) > 0 {
		fmt.Fprint(table, "\nPODS THAT FIT NOWHERE\n")
		for _, unplaced := range r.Unplaced {
			fmt.Fprintf(table, "%s (%s): %s\n", plural(len(unplaced.Pods), "pod"), few(unplaced.Pods), unplaced.Reason)
		}
	}
	if len(r.Sensitivity) > 0 {
		fmt.Fprint(table, "\nIF\tNODES\t$/MONTH\tDIFFERENCE\tPODS WITHOUT A NODE\n")
		for _, v := range r.Sensitivity {
			fmt.Fprintf(table, "%s %s\t%d\t%s\t%s\t%d\n", v.NodePool, v.Change, v.Nodes, money(v.Monthly), signed(v.Difference), v.Unplaced)
		}
	}
	r.writeUse(table)
	for _, note := range r.Notes {
		fmt.Fprintf(table, "\nNote: %s.", note)
	}
	fmt.Fprintf(table, "\nNot modelled: %s.\n", strings.Join(r.NotModelled, "; "))
	return table.Flush()
}

// writeUse writes the comparison of requests with use, if there is one.
func (r *Report) writeUse(w io.Writer) {
	if r.Use == nil {
		return
	}
	fmt.Fprintf(w, "\nREQUESTS\tPODS\tCPU\tAS USED\tMEMORY\tAS USED\t$/MONTH\tNOT USED\n")
	workloads, rest := r.Use.Shown()
	for _, u := range workloads {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Workload, u.Pods, cores(u.CPU), cores(u.CPUAsUsed), gibibytes(u.Memory),
			gibibytes(u.MemoryAsUsed), money(u.RequestedMonthly), money(u.UnusedMonthly))
	}
	if rest != "" {
		fmt.Fprintf(w, "%s\n", rest)
	}
	fmt.Fprintf(w, "As used: %s.\n\n", r.Use.Basis)
	section(w, "WITH REQUESTS AS USED", r.Use.Then, r.Use.ThenMonthly)
	for _, sentence := range r.Sentences() {
		fmt.Fprintf(w, "%s\n", sentence)
	}
}

func section(w io.Writer, title string, groups []Group, monthly float64) {
	fmt.Fprintf(w, "%s\tPLAN\tNODES\tCPU\tMEMORY\tPODS\t$/MONTH\n", title)
	nodes, pods := 0, 0
	for _, g := range groups {
		pool := g.Pool
		if g.Kept {
			pool += " (stays)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%d\t%s\n", pool, g.Plan, g.Nodes, percent(g.CPUUsed), percent(g.MemoryUsed), g.Pods, money(g.Monthly))
		nodes += g.Nodes
		pods += g.Pods
	}
	fmt.Fprintf(w, "together\t\t%d\t\t\t%d\t%s\n\n", nodes, pods, money(monthly))
}

// Verdict returns the difference in a sentence.
func (r *Report) Verdict() string {
	switch {
	case r.TodayMonthly == 0:
		return fmt.Sprintf("With Karpenter: $%s a month.", money(r.ThenMonthly))
	case money(r.Difference) == "0":
		return "With Karpenter: the same price."
	case r.Difference < 0:
		return fmt.Sprintf("With Karpenter: $%s a month less, %s of today's.", money(-r.Difference), percent(-r.Difference/r.TodayMonthly))
	}
	return fmt.Sprintf("With Karpenter: $%s a month more, %s of today's.", money(r.Difference), percent(r.Difference/r.TodayMonthly))
}

// Range returns, in a sentence, how the result varies with the order in which nodes join. It returns "" if the result does not vary.
func (r *Report) Range() string {
	if r.HighMonthly-r.LowMonthly < 0.005 {
		return ""
	}
	return fmt.Sprintf("Depending on the order in which nodes join and pods are placed, it costs between $%s and $%s a month.",
		money(r.LowMonthly), money(r.HighMonthly))
}

func money(usd float64) string {
	if usd > -0.005 && usd < 0.005 {
		usd = 0
	}
	return strings.TrimSuffix(fmt.Sprintf("%.2f", usd), ".00")
}

func signed(usd float64) string {
	if usd >= 0.005 {
		return "+" + money(usd)
	}
	return money(usd)
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", share*100) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// few returns the first names, and the number of the others.
func few(names []string) string {
	const shown = 3
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), more)
	}
	return strings.Join(names, ", ")
}
