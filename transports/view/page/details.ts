import type { Row } from '../../../runtime/watch/row.js'
import type { Happening } from '../../../runtime/watch/timeline.js'
import type { Traced } from '../picture.js'
import { el } from './dom.js'
import type { Model } from './model.js'
import { durationText, timeText } from './words.js'

const shownMessages = 100

type ActName = 'kill' | 'restart' | 'reconnect' | 'trace'

/** What there is to say of the selected row, and what may be done with it. */
export class Details {
  readonly #model: Model
  readonly #box: HTMLElement
  readonly #act: (key: number, what: ActName) => void
  #traced: Traced[] = []
  #shown = ''

  constructor(model: Model, box: HTMLElement, act: (key: number, what: ActName) => void) {
    this.#model = model
    this.#box = box
    this.#act = act
  }

  trace(traced: readonly Traced[]): void {
    this.#traced = [...this.#traced, ...traced].slice(-shownMessages)
  }

  draw(
    key: number | undefined,
    { now, mayAct, happened }: { now: number; mayAct: boolean; happened: readonly Happening[] },
  ): void {
    const row = key === undefined ? undefined : this.#model.rows.get(key)
    const crash = row && lastCrash(row, happened)
    const traced = this.#traced.filter((each) => each.key === key)
    const age = row?.since === undefined ? undefined : durationText(now - row.since)
    const shown = JSON.stringify([row, age, crash?.id, traced.length, traced.at(-1)?.at, mayAct])
    if (shown === this.#shown) return
    this.#shown = shown
    if (row === undefined) {
      this.#box.replaceChildren(el('p', { class: 'empty' }, 'Select a process: click, or arrow keys.'))
      return
    }
    const path = this.#model.pathOf(row.key).slice(0, -1)
    const parts = [
      path.length > 0 ? el('p', { class: 'path' }, path.map(({ id }) => id).join(' › ')) : undefined,
      el('h2', {}, row.id),
      factsOf(row, age),
      mayAct && row.process !== undefined ? this.#buttons(row) : undefined,
      crash === undefined ? undefined : crashOf(crash),
      traced.length > 0 ? messagesOf(traced) : undefined,
    ]
    this.#box.replaceChildren(...parts.filter((part) => part !== undefined))
  }

  #buttons(row: Row): HTMLElement {
    const button = (what: ActName, title: string): HTMLElement => {
      const made = el('button', { type: 'button', title, class: what }, what)
      made.addEventListener('click', () => {
        if (what === 'trace') this.#traced = []
        this.#act(row.key, what)
      })
      return made
    }
    return el(
      'div',
      { class: 'acts' },
      button('restart', 'asks it to end in order; its supervisor starts it again'),
      row.name === 'client' ? button('reconnect', 'has it connect now, and not after its pause') : undefined,
      button('kill', 'ends it at once, as a crash would'),
      row.kind === 'task' ? undefined : button('trace', 'shows the names of its messages, for 30 s'),
    )
  }
}

function factsOf(row: Row, age: string | undefined): HTMLElement {
  const left = row.restartsLeft === null ? 'any number' : row.restartsLeft
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ['kind', row.kind],
    ['status', row.status],
    ['says', row.about],
    ['behaviour', row.name === row.id ? undefined : row.name],
    ['process', row.process],
    ['runs for', age],
    ['restarts', row.restarts],
    ['waiting', row.mailbox],
    ['strategy', row.strategy],
    ['restarts left', row.strategy === undefined ? undefined : left],
    ['ended by', row.reason],
  ]
  const list = el('dl')
  for (const [name, value] of facts)
    if (value !== undefined) list.append(el('dt', {}, name), el('dd', {}, String(value)))
  return list
}

function lastCrash({ tree, process, id, name }: Row, happened: readonly Happening[]): Happening | undefined {
  const isIts = (each: Happening): boolean =>
    each.what === 'crash' &&
    each.tree === tree &&
    (each.process === process || each.name === name || each.name === id)
  return happened.findLast(isIts)
}

function crashOf({ at, text, stack = [] }: Happening): HTMLElement {
  const frames = stack.map((frame) => el('li', {}, frame))
  return el(
    'div',
    { class: 'crash' },
    el('h3', {}, `Last crash, ${timeText(at)}`),
    el('p', {}, text),
    el('ol', {}, ...frames),
  )
}

function messagesOf(traced: readonly Traced[]): HTMLElement {
  const lines = traced.map(({ at, what, kind, name }) =>
    el('li', {}, `${timeText(at)} ${what === 'in' ? '→' : '←'} ${kind} ${name}`),
  )
  return el('div', { class: 'messages' }, el('h3', {}, 'Messages'), el('ol', {}, ...lines.reverse()))
}
