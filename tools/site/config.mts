// The site of docs/: its pages as they are. Order and groups come from README.md's list of pages, so that a page has one place in both.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/karpenter-linode/karpenter-linode'
const readme = readFileSync(process.env.README!, 'utf8')
const pages = process.env.PAGES!

type Item = { text: string; link: string }

function title(file: string): string {
  return /^# (.*)$/m.exec(readFileSync(`${pages}/${file}`, 'utf8'))![1]
}

// listed returns the pages that a part of the README links to.
function listed(part: string): Item[] {
  const files = [...part.matchAll(/\]\(docs\/([a-z-]+\.md)/g)].map((match) => match[1])
  return [...new Set(files)].map((file) => ({ text: title(file), link: `/${file.replace('.md', '')}` }))
}

const [, documentation] = readme.split('\n## Documentation\n')
const [forUsers, afterwards] = documentation.split('\nFor development: ')
const users = listed(forUsers)
const developers = listed(afterwards.split('\n## ')[0]).filter((page) => !users.some((other) => other.link === page.link))
const known = [...users, ...developers].map((page) => page.link)
const rest = readdirSync(pages)
  .filter((file) => file.endsWith('.md') && file !== 'index.md' && !known.includes(`/${file.replace('.md', '')}`))
  .map((file) => ({ text: title(file), link: `/${file.replace('.md', '')}` }))

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
    sidebar: [
      { text: 'Use', items: users },
      { text: 'More', items: rest },
      { text: 'Develop', items: developers },
    ],
    outline: [2, 3],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
    socialLinks: [{ icon: 'github', link: repository }],
  },
  markdown: {
    config(md) {
      // Vue takes <name> for an element. Pages have line breaks and comments, and no other HTML.
      const inline = md.renderer.rules.html_inline!
      md.renderer.rules.html_inline = (tokens, at, options, env, self) =>
        /^(<br>|<!--)/.test(tokens[at].content) ? inline(tokens, at, options, env, self) : md.utils.escapeHtml(tokens[at].content)
      // What lies outside of docs/ is in the repository.
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
    if (page.relativePath === 'index.md' && !existsSync(`${pages}/public/whatif-example.html`)) {
      throw new Error('site: public/whatif-example.html is missing, which index.md links to')
    }
  },
})
