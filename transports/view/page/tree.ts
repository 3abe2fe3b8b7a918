import { el } from './dom.js'
import type { TreeLine, Model } from './model.js'
import { phaseOf } from './model.js'
import { plural } from './words.js'

const height = 26
/** Lines that are drawn above and below what is seen. */
const spare = 8

/** The trees as a list of which only what is seen is drawn: fast with thousands of lines. */
export class TreeView {
  readonly #model: Model
  readonly #box: HTMLElement
  readonly #list: HTMLElement
  readonly #selected: (key: number | undefined) => void
  /** Elements by the key of their row, with what they show. */
  readonly #drawn = new Map<number, { readonly node: HTMLElement; text: string; top: number }>()
  #lines: readonly TreeLine[] = []
  selection: number | undefined

  constructor(model: Model, box: HTMLElement, selected: (key: number | undefined) => void) {
    this.#model = model
    this.#box = box
    this.#selected = selected
    this.#list = el('div', { class: 'lines' })
    box.append(this.#list)
    box.addEventListener('scroll', () => this.#drawSeen(), { passive: true })
    box.addEventListener('keydown', (event) => this.#press(event))
    new ResizeObserver(() => this.#drawSeen()).observe(box)
    this.#list.addEventListener('click', (event) => {
      const line = event.target instanceof Element ? event.target.closest<HTMLElement>('.line') : null
      if (line === null) return
      const key = Number(line.dataset.key)
      if (event.target instanceof Element && event.target.closest('.twist') !== null) this.#toggle(key)
      this.select(key)
    })
  }

  draw(now: number): void {
    if (this.selection !== undefined) this.selection = this.#model.nowAt(this.selection)
    this.#lines = this.#model.lines(now)
    this.#list.style.height = `${this.#lines.length * height}px`
    this.#drawSeen()
  }

  /** How many lines there are, after search and closing. */
  get length(): number {
    return this.#lines.length
  }

  select(key: number | undefined): void {
    this.selection = key
    this.#drawSeen()
    this.#selected(key)
  }

  /** Selects a row and scrolls to it. */
  reveal(key: number): void {
    for (const row of this.#model.pathOf(key).slice(0, -1)) this.#model.open(row.key, true)
    this.draw(Date.now())
    this.select(key)
    this.#scrollTo(this.#lines.findIndex(({ row }) => row.key === key))
  }

  #drawSeen(): void {
    const from = Math.max(0, Math.floor(this.#box.scrollTop / height) - spare)
    const to = Math.min(
      this.#lines.length,
      Math.ceil((this.#box.scrollTop + this.#box.clientHeight) / height) + spare,
    )
    const seen = new Set<number>()
    for (let i = from; i < to; i += 1) {
      const line = this.#lines[i]
      if (line === undefined) break
      seen.add(line.row.key)
      this.#drawLine(line, i * height)
    }
    for (const [key, { node }] of this.#drawn)
      if (!seen.has(key)) {
        node.remove()
        this.#drawn.delete(key)
      }
    const active = this.selection !== undefined && seen.has(this.selection) ? `line-${this.selection}` : ''
    this.#box.setAttribute('aria-activedescendant', active)
  }

  #drawLine(line: TreeLine, top: number): void {
    const isSelected = line.row.key === this.selection
    const text = JSON.stringify([line, isSelected])
    let drawn = this.#drawn.get(line.row.key)
    if (drawn === undefined) {
      drawn = {
        node: el('div', { class: 'line', role: 'treeitem', id: `line-${line.row.key}` }),
        text: '',
        top: -1,
      }
      drawn.node.dataset.key = String(line.row.key)
      this.#drawn.set(line.row.key, drawn)
      this.#list.append(drawn.node)
    }
    if (drawn.top !== top) drawn.node.style.transform = `translateY(${top}px)`
    drawn.top = top
    if (drawn.text === text) return
    drawn.text = text
    fill(drawn.node, line, isSelected)
  }

  #toggle(key: number): void {
    const line = this.#lines.find(({ row }) => row.key === key)
    if (line === undefined) return
    this.#model.open(key, !line.isOpen)
    this.draw(Date.now())
  }

  #press(event: KeyboardEvent): void {
    const at = this.#lines.findIndex(({ row }) => row.key === this.selection)
    const line = this.#lines[at]
    const page = Math.max(1, Math.floor(this.#box.clientHeight / height) - 1)
    const steps: Readonly<Record<string, number>> = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: at - page,
      PageDown: at + page,
      Home: 0,
      End: this.#lines.length - 1,
    }
    const to = steps[event.key]
    if (to !== undefined) this.#goTo(to)
    else if (event.key === 'ArrowLeft' && line !== undefined) {
      if (line.isOpen && line.children > 0) this.#toggle(line.row.key)
      else this.#goTo(this.#lines.findIndex(({ row }) => row.key === line.row.parent))
    } else if (event.key === 'ArrowRight' && line !== undefined && line.children > 0) {
      if (!line.isOpen) this.#toggle(line.row.key)
      else this.#goTo(at + 1)
    } else return
    event.preventDefault()
  }

  #goTo(at: number): void {
    if (this.#lines.length === 0) return
    const index = Math.min(this.#lines.length - 1, Math.max(0, at))
    this.select(this.#lines[index]?.row.key)
    this.#scrollTo(index)
  }

  #scrollTo(index: number): void {
    if (index < 0) return
    const top = index * height
    const { scrollTop, clientHeight } = this.#box
    if (top < scrollTop) this.#box.scrollTop = top
    else if (top + height > scrollTop + clientHeight) this.#box.scrollTop = top + height - clientHeight
  }
}

function fill(
  node: HTMLElement,
  { row, depth, children, isOpen, mark }: TreeLine,
  isSelected: boolean,
): void {
  const phase = phaseOf(row)
  node.className = `line ${row.kind} ${healthOf(row, mark)}${isSelected ? ' selected' : ''}`
  node.setAttribute('aria-level', String(depth + 1))
  node.setAttribute('aria-selected', String(isSelected))
  if (children > 0) node.setAttribute('aria-expanded', String(isOpen))
  else node.removeAttribute('aria-expanded')
  const twist = el('span', { class: children > 0 ? (isOpen ? 'twist open' : 'twist') : 'twist none' })
  const title = el('span', { class: 'title' }, row.id)
  const name = row.name === row.id ? undefined : el('span', { class: 'name' }, row.name)
  const about = row.about === undefined ? undefined : el('span', { class: 'about' }, row.about)
  const facts = [
    row.status === 'running' ? undefined : badge('status', row.status),
    row.strategy === undefined ? undefined : badge('strategy', row.strategy.replaceAll('_', ' ')),
    row.restarts > 0 ? badge('restarts', `restarted ${row.restarts}×`) : undefined,
    row.mailbox > 0 ? badge('mailbox', `${row.mailbox} waiting`) : undefined,
    row.degraded === undefined ? undefined : badge('degraded', plural(row.degraded, 'stray error')),
    row.hidden === undefined ? undefined : badge('hidden', `${row.hidden} more`),
    isOpen || children === 0 ? undefined : badge('hidden', `${children} below`),
  ]
  node.replaceChildren(twist, el('span', { class: `dot ${phase ?? ''}` }), title)
  node.append(...[name, about, ...facts].filter((each) => each !== undefined))
  node.style.paddingLeft = `${12 + Math.min(depth, 24) * 18}px`
}

function healthOf(row: TreeLine['row'], mark: TreeLine['mark']): string {
  if (mark !== undefined) return mark
  if (row.process === undefined || row.status === 'ended') return 'dead'
  return row.status === 'running' ? 'well' : 'waiting'
}

function badge(kind: string, text: string): HTMLElement {
  return el('span', { class: `badge ${kind}` }, text)
}
