import type { Happening } from '../../../runtime/watch/timeline.js'
import type { Changes, Health, Picture } from '../picture.js'
import { Details } from './details.js'
import { byId, el } from './dom.js'
import { Model } from './model.js'
import { TreeView } from './tree.js'
import { bytesText, durationText, plural, timeText } from './words.js'
import { asked, follow, takeSecret } from './stream.js'

const shownHappenings = 200
const shownDelays = 120

main()

function main(): void {
  const model = new Model()
  const page = {
    title: byId('title', HTMLElement),
    facts: byId('facts', HTMLElement),
    counts: byId('counts', HTMLElement),
    banner: byId('banner', HTMLElement),
    delays: byId('delays', HTMLCanvasElement),
    search: byId('search', HTMLInputElement),
    trouble: byId('trouble', HTMLInputElement),
    timeline: byId('timeline', HTMLOListElement),
    tree: byId('tree', HTMLElement),
    details: byId('details', HTMLElement),
    said: byId('said', HTMLElement),
    theme: byId('theme', HTMLButtonElement),
  }
  const secret = takeSecret()
  let program: Picture['program'] | undefined
  let happened: readonly Happening[] = []
  let delays: readonly number[] = []
  let frame = 0

  const act = (key: number, what: string): void => {
    const request = fetch('/act', {
      method: 'POST',
      headers: { ...asked(secret), 'content-type': 'application/json', 'x-caduceus': 'act' },
      credentials: 'omit',
      body: JSON.stringify({ key, what }),
    })
    request
      .then(async (response) => say(await response.text()))
      .catch(() => say('the program does not answer'))
  }
  const say = (text: string): void => {
    page.said.textContent = text.trim()
    page.said.classList.add('shown')
    setTimeout(() => page.said.classList.remove('shown'), 3_000)
  }
  const details = new Details(model, page.details, act)
  const tree = new TreeView(model, page.tree, () => drawDetails())
  const drawDetails = (): void =>
    details.draw(tree.selection, { now: Date.now(), mayAct: program?.actions === true, happened })

  /** Once a frame, whatever has come meanwhile. */
  const draw = (): void => {
    if (frame !== 0) return
    frame = requestAnimationFrame(() => {
      frame = 0
      const now = Date.now()
      const isMarked = model.sweep(now)
      tree.draw(now)
      drawDetails()
      drawCounts()
      // marks end by themselves
      if (isMarked) setTimeout(draw, 200)
    })
  }

  const drawCounts = (): void => {
    const chips = [
      el('span', { class: 'chip' }, plural(model.rows.size, 'process').replace('processs', 'processes')),
    ]
    for (const [name, phases] of model.counts())
      for (const [phase, count] of phases) {
        const chip = el(
          'button',
          { class: `chip ${phase}`, type: 'button' },
          `${plural(count, name)} ${phase}`,
        )
        chip.addEventListener('click', () => search(`${name} ${phase}`))
        chips.push(chip)
      }
    const text = chips.map((chip) => chip.textContent).join()
    if (page.counts.dataset.text === text) return
    page.counts.dataset.text = text
    page.counts.replaceChildren(...chips)
  }

  const drawHealth = (health: Health): void => {
    delays = [...delays, health.late].slice(-shownDelays)
    page.facts.textContent = [
      `up ${durationText(health.uptime)}`,
      `memory ${bytesText(health.rss)}`,
      `heap ${bytesText(health.heapUsed)}`,
      `event loop ${Math.round(health.busy * 100)} % busy`,
    ].join('  ·  ')
    drawDelays(page.delays, delays)
  }

  const addHappenings = (more: readonly Happening[]): void => {
    happened = [...happened, ...more].slice(-shownHappenings)
    page.timeline.prepend(...more.map(happeningLine).reverse())
    while (page.timeline.childElementCount > shownHappenings) page.timeline.lastElementChild?.remove()
  }

  const search = (text: string): void => {
    page.search.value = text
    model.search = text
    page.tree.scrollTop = 0
    draw()
  }

  page.search.addEventListener('input', () => search(page.search.value))
  page.trouble.addEventListener('change', () => {
    model.onlyTrouble = page.trouble.checked
    draw()
  })
  page.timeline.addEventListener('click', (event) => {
    const line = event.target instanceof Element ? event.target.closest<HTMLElement>('li.happening') : null
    if (line === null) return
    line.classList.toggle('open')
    const row = model.find(Number(line.dataset.tree), Number(line.dataset.process))
    if (row !== undefined) tree.reveal(row.key)
  })
  page.theme.addEventListener('click', () => toggleTheme())
  byId('open-all', HTMLButtonElement).addEventListener('click', () => {
    model.openAll()
    draw()
  })
  byId('close-all', HTMLButtonElement).addEventListener('click', () => {
    model.closeAll()
    draw()
  })
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') {
      search('')
      page.tree.focus()
    } else if (event.target !== page.search && event.key === '/') page.search.focus()
    else if (event.target !== page.search && event.key === 't') toggleTheme()
    else return
    event.preventDefault()
  })

  const take = (picture: Picture): void => {
    program = picture.program
    model.take(picture)
    happened = []
    page.timeline.replaceChildren()
    addHappenings(picture.happened)
    document.title = `${program.name} · caduceus`
    page.title.textContent = `${program.name}`
    page.title.title = `pid ${program.pid}, Node ${program.node}`
    page.banner.hidden = true
    drawHealth(picture.health)
    draw()
  }
  const change = (changes: Changes): void => {
    model.change(changes, Date.now())
    addHappenings(changes.happened)
    details.trace(changes.traced)
    drawHealth(changes.health)
    draw()
  }
  void follow(secret, {
    event(name, data) {
      if (name === 'picture') take(JSON.parse(data) as Picture)
      else if (name === 'changes') change(JSON.parse(data) as Changes)
    },
    trouble(why) {
      page.banner.hidden = false
      page.banner.textContent = troubles[why]
    },
  })
  page.tree.focus()
}

const troubles = {
  refused: 'The program does not let this page look any more. Open the address that it tells when it starts.',
  full: 'As many look at the program as may. This page goes on once one of them has left.',
  away: 'The program is away. This page goes on once it is back.',
}

function happeningLine({ at, what, tree, process, name, text, stack = [] }: Happening): HTMLElement {
  const line = el(
    'li',
    { class: `happening ${what.replaceAll(' ', '-')}`, 'data-tree': tree, 'data-process': process },
    el('time', {}, timeText(at)),
    el('span', { class: 'what' }, what),
    el('span', { class: 'who' }, name),
    el('span', { class: 'text' }, text),
  )
  if (stack.length > 0)
    line.append(el('ol', { class: 'stack' }, ...stack.map((frame) => el('li', {}, frame))))
  return line
}

/** How late the event loop was, as a line over the last 30 s; the scale ends at 50 ms, or what is more. */
function drawDelays(canvas: HTMLCanvasElement, delays: readonly number[]): void {
  const ratio = window.devicePixelRatio || 1
  const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio]
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
  const context = canvas.getContext('2d')
  if (context === null) return
  const most = Math.max(50, ...delays)
  context.clearRect(0, 0, width, height)
  context.strokeStyle = getComputedStyle(canvas).color
  context.lineWidth = 1.5 * ratio
  context.beginPath()
  delays.forEach((delay, i) => {
    const x = (i / (shownDelays - 1)) * width
    const y = height - 2 * ratio - (delay / most) * (height - 4 * ratio)
    if (i === 0) context.moveTo(x, y)
    else context.lineTo(x, y)
  })
  context.stroke()
}

function toggleTheme(): void {
  const root = document.documentElement
  const isDark =
    root.dataset.theme === 'dark' ||
    (root.dataset.theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches)
  root.dataset.theme = isDark ? 'light' : 'dark'
}
