package nodeview

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// Source returns the present view.
type Source func(context.Context) (View, error)

// Live shows the view in the terminal, and reads it again after each interval, until the user leaves or ctx ends.
func Live(ctx context.Context, source Source, interval time.Duration, options ...tea.ProgramOption) error {
	m := live{ctx: ctx, source: source, interval: interval, renderer: lipgloss.DefaultRenderer()}
	_, err := tea.NewProgram(m, append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithAltScreen()}, options...)...).Run()
	return err
}

// live is the model of the program.
type live struct {
	ctx           context.Context //nolint:containedctx // the commands of a model get no other
	source        Source
	interval      time.Duration
	renderer      *lipgloss.Renderer
	view          View
	err           error
	read          bool
	width, height int
	scrolled      int
}

// seen is the message of a reading that has ended.
type seen struct {
	view View
	err  error
}

// due is the message at the end of an interval.
type due struct{}

func (m live) Init() tea.Cmd { return m.readNow }

func (m live) readNow() tea.Msg {
	view, err := m.source(m.ctx)
	return seen{view, err}
}

func (m live) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.KeyMsg:
		for _, key := range keysOf(message) {
			if leaves(key) {
				return m, tea.Quit
			}
			m.scroll(key)
		}
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case seen:
		m.read, m.err = true, message.err
		if message.err == nil { // the last view stays while the cluster does not answer
			m.view = message.view
		}
		return m, tea.Tick(m.interval, func(time.Time) tea.Msg { return due{} })
	case due:
		return m, m.readNow
	}
	return m, nil
}

// keysOf returns the keys of a message. Characters that arrive together, from a key that is held down, are one message.
func keysOf(message tea.KeyMsg) (keys []string) {
	if message.Type != tea.KeyRunes {
		return []string{message.String()}
	}
	for _, r := range message.Runes {
		keys = append(keys, string(r))
	}
	return keys
}

func leaves(key string) bool { return key == "q" || key == "esc" || key == "ctrl+c" }

func (m *live) scroll(key string) {
	switch key {
	case "down", "j":
		m.scrolled++
	case "up", "k":
		m.scrolled--
	case "pgdown", " ":
		m.scrolled += m.height / 2
	case "pgup":
		m.scrolled -= m.height / 2
	case "home":
		m.scrolled = 0
	}
	m.scrolled = min(max(m.scrolled, 0), max(len(m.view.Nodes)-1, 0))
}

func (m live) View() string {
	if !m.read {
		return "reading the cluster ..."
	}
	head, nodes := m.view.Lines(m.renderer)
	foot := "q leaves, arrows scroll"
	if m.err != nil {
		foot = "the cluster does not answer: " + strings.Join(strings.Fields(printable.Text(m.err.Error())), " ")
	}
	nodes = nodes[min(m.scrolled, len(nodes)):]
	if room := m.height - len(head) - 2; m.height > 0 && len(nodes) > room {
		nodes = nodes[:max(room, 0)]
	}
	lines := append(append(head, nodes...), "", m.renderer.NewStyle().Faint(true).Render(foot))
	if m.width > 0 {
		cut := m.renderer.NewStyle().MaxWidth(m.width)
		for i, line := range lines {
			lines[i] = cut.Render(line)
		}
	}
	return strings.Join(lines, "\n")
}
