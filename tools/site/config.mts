// The site of docs/: its pages as they are. Order and groups come from README.md's list of pages, so that a page has one place in both.
// A page that README does not list stands below the first one that links to it.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/karpenter-linode/karpenter-linode'
const readme = readFileSync(process.env.README!, 'utf8')
const pages = process.env.PAGES!

type Item = { text: string; link: string; items?: Item[]; collapsed?: boolean }
type Group = { text: string; items: Item[] }

function item(file: string): Item {
  const title = /^# (.*)$/m.exec(readFileSync(`${pages}/${file}`, 'utf8'))![1]
  return { text: title, link: `/${file.replace('.md', '')}` }
}

// linked returns the files that a text links to in a folder, without the others' sections.
function linked(text: string, folder: string): string[] {
  const files = [...text.matchAll(/\]\(([a-z0-9/-]+\.md)/g)].map((match) => match[1]).filter((file) => file.startsWith(folder))
  return [...new Set(files)].map((file) => file.slice(folder.length)).filter((file) => !file.includes('/'))
}

const [, list] = readme.split('\n## Pages\n')
const groups: Group[] = list.split('\n### ').slice(1).map((part) => ({ text: part.split('\n')[0], items: linked(part, 'docs/').map(item) }))
const all = groups.flatMap((group) => group.items)
const known = all.map((page) => page.link)
for (const page of [...all]) {
  for (const file of linked(readFileSync(`${pages}${page.link}.md`, 'utf8'), '')) {
    const below = item(file)
    if (known.includes(below.link)) continue
    known.push(below.link)
    page.collapsed = true
    page.items = [...(page.items ?? []), below]
  }
}
const missing = readdirSync(pages).filter((file) => file.endsWith('.md') && file !== 'index.md' && !known.includes(`/${file.replace('.md', '')}`))
if (groups.length !== 4 || missing.length > 0) {
  throw new Error(`site: README's list of pages has ${groups.length} groups, and neither it nor a page of it links to ${missing.join(', ')}`)
}

// widest returns the number of columns of a page's widest table.
function widest(file: string): number {
  const heads = readFileSync(`${pages}/${file}`, 'utf8').match(/^\|(.*)\|\n\|[-:| ]+\|$/gm) ?? []
  return Math.max(0, ...heads.map((head) => head.split('\n')[1].split('|').length - 2))
}

export default defineConfig({
  title: 'Karpenter for Linode',
  description: 'Node autoscaling for Kubernetes on Linode (Akamai Cloud)',
  base: process.env.BASE || '/',
  srcDir: 'pages',
  cleanUrls: false,
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Install', link: '/install' },
      { text: 'Tour', link: '/tour' },
      { text: 'Troubleshooting', link: '/troubleshooting' },
    ],
    sidebar: groups,
    outline: [2, 3],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
    socialLinks: [{ icon: 'github', link: repository }],
  },
  markdown: {
    config(md) {
      // On a narrow screen a row of a table is a block, in which each cell has its column's head before it.
      md.core.ruler.push('heads', (state) => {
        let heads: string[] = [], column = 0
        for (const [at, token] of state.tokens.entries()) {
          if (token.type === 'table_open') heads = []
          if (token.type === 'tr_open') column = 0
          if (token.type === 'th_open') heads.push(state.tokens[at + 1].content.replace(/[`*]|\]\(.*?\)|\[/g, ''))
          if (token.type === 'td_open') token.attrSet('data-of', heads[column++] ?? '')
        }
      })
      // Vue takes <name> for an element. Pages have line breaks and comments, and no other HTML.
      const inline = md.renderer.rules.html_inline!
      md.renderer.rules.html_inline = (tokens, at, options, env, self) =>
        /^(<br>|<!--)/.test(tokens[at].content) ? inline(tokens, at, options, env, self) : md.utils.escapeHtml(tokens[at].content)
      // The repository draws diagrams. Here a link leads to the page there, in the place of the diagram's source.
      const fence = md.renderer.rules.fence!
      md.renderer.rules.fence = (tokens, at, options, env, self) =>
        tokens[at].info.trim() === 'mermaid'
          ? `<p><a href="${repository}/blob/main/docs/${env.relativePath}" target="_blank" rel="noreferrer">The diagram, on the page in the repository</a></p>`
          : fence(tokens, at, options, env, self)
      // Files outside of docs/ are in the repository.
      const render = md.renderer.rules.link_open!
      md.renderer.rules.link_open = (tokens, at, options, env, self) => {
        const href = tokens[at].attrGet('href') ?? ''
        if (href.startsWith('../') || href.startsWith('./../')) {
          tokens[at].attrSet('href', `${repository}/blob/main/${href.replace(/^(\.\/)?(\.\.\/)+/, '')}`)
        } else if (/^(\.\/)?examples\//.test(href)) {
          tokens[at].attrSet('href', `${repository}/blob/main/docs/${href}`)
        }
        return render(tokens, at, options, env, self)
      }
    },
  },
  transformPageData(page) {
    // A wide table needs the place of the outline.
    if (page.relativePath !== 'index.md' && widest(page.relativePath) > 5) page.frontmatter.aside = false
    if (page.relativePath === 'index.md' && !existsSync(`${pages}/public/whatif-example.html`)) {
      throw new Error('site: public/whatif-example.html is missing, which index.md links to')
    }
  },
})
