package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
)

// asProgram is an environment variable. If it is set, the test's binary is the program karpenter-linode; a terminal runs it as a separate
// process.
const asProgram = "KARPENTER_LINODE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(server.Run(m))
}

// A terminal runs the program and shows what a person sees: the characters in their places.
type terminal struct {
	*testing.T
	device *os.File
	ended  chan error

	mu      sync.Mutex
	rows    [][]rune
	columns int // of the screen
	row     int
	column  int
	entered bool // the alternate screen was entered, and not left
}

// startTerminal runs the program with arguments in a terminal of a size.
func startTerminal(t *testing.T, rows, columns uint16, args ...string) *terminal {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), asProgram+"=1", "TERM=xterm-256color")
	device, err := pty.StartWithSize(command, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{T: t, device: device, ended: make(chan error, 1)}
	s.size(rows, columns)
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read()
	}()
	go func() {
		err := command.Wait()
		<-read // the device has an end when the program has ended
		s.ended <- err
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = device.Close()
	})
	return s
}

// size changes the size of the screen. Characters outside of the new size are lost.
func (s *terminal) size(rows, columns uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.rows) < int(rows) {
		s.rows = append(s.rows, nil)
	}
	s.rows, s.columns = s.rows[:rows], int(columns)
	for i, row := range s.rows {
		s.rows[i] = row[:min(len(row), int(columns))]
	}
	s.row = min(s.row, int(rows)-1)
}

// resize changes the size of the window. A signal tells the program about it.
func (s *terminal) resize(rows, columns uint16) {
	s.Helper()
	s.size(rows, columns)
	if err := pty.Setsize(s.device, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		s.Fatal(err)
	}
}

func (s *terminal) types(keys string) {
	s.Helper()
	if _, err := s.device.WriteString(keys); err != nil {
		s.Fatal(err)
	}
}

// lines returns the present rows of the screen.
func (s *terminal) lines() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.rows {
		all = append(all, strings.TrimRight(string(row), " "))
	}
	return all
}

// shows waits until the screen is as wanted.
func (s *terminal) shows(what string, wanted func(lines []string) bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !wanted(s.lines()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.Fatalf("%s: not within a minute; the terminal shows\n%s", what, s.text())
		}
	}
}

func (s *terminal) text() string {
	var all []string
	for _, row := range s.rows {
		all = append(all, string(row))
	}
	return strings.Join(all, "\n")
}

func (s *terminal) read() {
	var pending []byte
	buffer := make([]byte, 4096)
	for {
		n, err := s.device.Read(buffer)
		pending = s.draw(append(pending, buffer[:n]...))
		if err != nil { // the program has ended
			return
		}
	}
}

// draw carries out the program's output, and returns the bytes of a sequence that is not complete.
func (s *terminal) draw(data []byte) (rest []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(data) > 0 {
		n := s.step(data)
		if n == 0 {
			break
		}
		data = data[n:]
	}
	return slices.Clone(data)
}

// step carries out one character or control sequence and returns its length, 0 if it is not complete.
func (s *terminal) step(data []byte) int {
	switch data[0] {
	case '\r':
		s.column = 0
		return 1
	case '\n':
		if s.row++; s.row == len(s.rows) {
			s.row--
			s.rows = append(s.rows[1:], nil)
		}
		return 1
	case '\b':
		s.column = max(s.column-1, 0)
		return 1
	case '\x1b':
		return s.sequence(data)
	}
	if !utf8.FullRune(data) {
		return 0
	}
	r, n := utf8.DecodeRune(data)
	if r < ' ' || s.column >= s.columns { // a frame that was on its way when the window became narrower
		return n
	}
	for len(s.rows[s.row]) <= s.column {
		s.rows[s.row] = append(s.rows[s.row], ' ')
	}
	s.rows[s.row][s.column] = r
	s.column++
	return n
}

// sequence carries out a control sequence (ECMA-48) that moves the cursor or erases. Colours and modes change no character.
func (s *terminal) sequence(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	if data[1] != '[' {
		return 2
	}
	end := slices.IndexFunc(data[2:], func(b byte) bool { return b >= 0x40 && b <= 0x7e })
	if end < 0 {
		return 0
	}
	parameters, final := string(data[2:2+end]), data[2+end]
	number := func(i, absent int) int {
		if fields := strings.Split(parameters, ";"); i < len(fields) {
			if n, err := strconv.Atoi(fields[i]); err == nil {
				return n
			}
		}
		return absent
	}
	switch final {
	case 'A':
		s.row = max(s.row-number(0, 1), 0)
	case 'B':
		s.row = min(s.row+number(0, 1), len(s.rows)-1)
	case 'C':
		s.column += number(0, 1)
	case 'D':
		s.column = max(s.column-number(0, 1), 0)
	case 'H':
		s.row, s.column = min(number(0, 1), len(s.rows))-1, number(1, 1)-1
	case 'K':
		s.erase(number(0, 0))
	case 'J':
		for row := range s.rows {
			if number(0, 0) == 2 || row > s.row {
				s.rows[row] = nil
			}
		}
		s.erase(number(0, 0))
	case 'h', 'l':
		if parameters == "?1049" {
			s.entered = final == 'h'
		}
	}
	return end + 3
}

// erase erases a part of the cursor's row: right of the cursor, left of it, or all.
func (s *terminal) erase(part int) {
	row := s.rows[s.row]
	switch {
	case part == 0 && s.column < len(row):
		s.rows[s.row] = row[:s.column]
	case part == 2:
		s.rows[s.row] = nil
	case part == 1:
		for i := range min(s.column+1, len(row)) {
			row[i] = ' '
		}
	}
}
