package bench

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"text/template"
)

// Section is a part of the document that another verb than `make bench` writes. It is the verb's name.
type Section string

// The sections.
const (
	ScaleSection  Section = "bench-scale"
	WhatifSection Section = "bench-whatif"
)

func (s Section) begins() string { return "<!-- written by make " + string(s) + " -->\n" }

func (s Section) ends() string { return "\n<!-- end of what make " + string(s) + " writes -->" }

// in puts a text between the section's markers.
func (s Section) in(text string) string {
	return s.begins() + cmp.Or(text, "Not measured yet: run `make "+string(s)+"`.") + s.ends()
}

// Of finds the section's text in a document; "" if the document has no such section.
func (s Section) Of(page string) string {
	_, after, found := strings.Cut(page, s.begins())
	text, _, closed := strings.Cut(after, s.ends())
	if !found || !closed {
		return ""
	}
	return text
}

// Replace puts a text into a document, in place of the section's text.
func (s Section) Replace(page, text string) (string, error) {
	before, after, found := strings.Cut(page, s.begins())
	_, rest, closed := strings.Cut(after, s.ends())
	if !found || !closed {
		return "", fmt.Errorf("the document has no place for the section: %q and %q are missing", strings.TrimSpace(s.begins()),
			strings.TrimSpace(s.ends()))
	}
	return before + s.in(text) + rest, nil
}

// render fills the layout of a section with a report.
func render(layout string, helpers template.FuncMap, report any) (string, error) {
	section, err := template.New("section").Funcs(helpers).Parse(layout)
	if err != nil {
		return "", fmt.Errorf("the section's layout: %w", err)
	}
	var b strings.Builder
	if err := section.Execute(&b, report); err != nil {
		return "", fmt.Errorf("the section: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// Write puts a text into a file, in place of the section's text.
func (s Section) Write(file, text string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	updated, err := s.Replace(string(page), text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(updated), 0o644)
}
