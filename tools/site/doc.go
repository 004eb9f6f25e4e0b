// Package site tests the site of docs/ that `make site` builds with VitePress: it has every page, works at the width of a desktop and of a
// telephone, and its search finds pages. The configuration is config.mts, and the start page is index.md. The site has the pages of docs/
// as they are, except for diagrams: in the place of a diagram there is a link to the page in the repository.
package site
