// Package site tests the site of docs/ that `make site` builds with VitePress: it has every page, works at the width of a desktop and of a
// telephone, and its search finds pages. The configuration is config.mts, the start page index.md; the pages are
// docs/; only diagrams are links to the repository there.
package site
