// Diagrams are drawn in the page, in its colours; nothing is fetched from elsewhere.
const blocks = [...document.querySelectorAll('pre > code.mermaid')]
if (blocks.length > 0) {
  const script = document.createElement('script')
  script.src = `${document.documentElement.dataset.base}assets/mermaid.js`
  script.addEventListener('load', () => void draw())
  document.head.append(script)
}

async function draw() {
  const scheme = document.documentElement.dataset.theme
  const dark = scheme === 'dark' || (scheme === 'os' && matchMedia('(prefers-color-scheme: dark)').matches)
  globalThis.mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    theme: dark ? 'dark' : 'neutral',
  })
  const nodes = blocks.map((block) => {
    const picture = document.createElement('div')
    picture.className = 'mermaid'
    for (const button of block.parentElement.querySelectorAll('button')) button.remove()
    picture.textContent = block.textContent
    block.parentElement.replaceWith(picture)
    return picture
  })
  await globalThis.mermaid.run({ nodes })
}
