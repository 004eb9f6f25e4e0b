package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// On a terminal one line is rewritten each tick; elsewhere a line is added
// rarely enough to keep a CI log short and often enough to show life.
const (
	liveTick  = 500 * time.Millisecond
	plainTick = 30 * time.Second
)

// progress shows what is being built. Safe for concurrent use.
type progress struct {
	out   io.Writer
	live  bool
	total int
	stop  chan struct{}
	idle  sync.WaitGroup

	mu         sync.Mutex
	index      int
	name       string
	began      time.Time // of the current program
	whole      time.Time // of all of them
	compiled   int
	downloaded int
}

func newProgress(out io.Writer, live bool, total int) *progress {
	p := &progress{out: out, live: live, total: total, stop: make(chan struct{}), whole: time.Now()}
	tick := plainTick
	if live {
		tick = liveTick
	}
	p.idle.Go(func() { p.run(tick) })
	return p
}

func (p *progress) run(tick time.Duration) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			if p.name != "" {
				p.show(p.state())
			}
			p.mu.Unlock()
		}
	}
}

// start announces a program.
func (p *progress) start(index int, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index, p.name, p.began, p.compiled, p.downloaded = index, name, time.Now(), 0, 0
	if p.live {
		p.show("building")
	}
}

// done ends the current program's line.
func (p *progress) done(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(how)
	if p.live {
		fmt.Fprintln(p.out)
	}
	p.name = ""
}

func (p *progress) close() {
	close(p.stop)
	p.idle.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live && p.name != "" { // a failure: leave the line as it was
		fmt.Fprintln(p.out)
	}
}

// add counts what the go command reports.
func (p *progress) add(compiled, downloaded int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.compiled+p.downloaded == 0
	p.compiled += compiled
	p.downloaded += downloaded
	if first && !p.live {
		p.show("building")
	}
}

func (p *progress) state() string {
	text := "building, "
	if p.downloaded > 0 && p.compiled == 0 {
		text += fmt.Sprintf("%d modules downloaded, ", p.downloaded)
	} else {
		text += fmt.Sprintf("%d packages compiled, ", p.compiled)
	}
	return text + round(time.Since(p.began)) + " (" + round(time.Since(p.whole)) + " in all)"
}

func (p *progress) show(text string) {
	line := fmt.Sprintf("[%d/%d] %s: %s", p.index, p.total, p.name, text)
	if p.live {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

func round(d time.Duration) string { return d.Round(time.Second).String() }

// counter reads the lines of `go build -v`: one package path per compiled
// package, and a line for each module that is downloaded.
type counter struct {
	progress *progress
	rest     []byte
}

func (c *counter) Write(chunk []byte) (int, error) {
	c.rest = append(c.rest, chunk...)
	for {
		line, rest, found := bytes.Cut(c.rest, []byte("\n"))
		if !found {
			return len(chunk), nil
		}
		c.rest = rest
		switch text := string(line); {
		case strings.HasPrefix(text, "go: downloading"):
			c.progress.add(0, 1)
		case !strings.Contains(text, " "):
			c.progress.add(1, 0)
		}
	}
}
