import * as assert from 'uvu/assert'
import type { JsonObject, Question } from 'caduceus/protocol'
import { systemWorld } from 'caduceus/runtime'
import type { CallState } from '../../../server/holdings/request-state.js'
import { Rounds } from '../../../server/exchanges/rounds.js'
import { readAnswers } from '../../../server/runs/answers.js'
import { suite } from '../../support/suite.js'

const test = suite('rounds')
const none = new Map<string, string>()
const elicit = 'elicitation/create'
const yes = { action: 'accept', content: { name: 'Ada' } }
const no = { action: 'decline' }

/** Asks, and notes what comes. */
function ask(rounds: Rounds, key: string, method: Question = elicit): { got: unknown } {
  const seen: { got: unknown } = { got: rounds.take(key, method) }
  if (seen.got !== undefined) return seen
  rounds.add(key, {
    method,
    params: {},
    timeout: 1_000,
    resolve(result) {
      seen.got = result
    },
    reject({ message }) {
      seen.got = message
    },
  })
  return seen
}

function answer(state: CallState, responses: JsonObject) {
  return readAnswers(state.asked, responses)
}

test('a question is open until answered, and the next run has the answer at once', () => {
  const first = new Rounds(systemWorld)
  const seen = ask(first, 'who')
  const state = first.next(none)
  assert.equal([state.round, [...state.asked]], [1, [['who', elicit]]])
  first.learn(answer(state, { who: yes }))
  assert.equal(seen.got, yes)
  const again = new Rounds(systemWorld, state)
  again.learn(answer(state, { who: yes }))
  assert.equal([again.call, again.round, ask(again, 'who').got], [first.call, 1, yes])
})

test('earlier answers are available in every later round', () => {
  let known: CallState | undefined
  for (const key of ['a', 'b', 'c']) {
    const rounds = new Rounds(systemWorld, known)
    for (const earlier of known?.answers.keys() ?? [])
      assert.equal(ask(rounds, earlier).got, { action: 'accept' })
    ask(rounds, key)
    const state = rounds.next(none)
    rounds.learn(answer(state, { [key]: { action: 'accept' } }))
    known = rounds.next(none)
  }
  assert.equal([...(known?.answers.keys() ?? [])], ['a', 'b', 'c'])
})

test('a key that is asked twice has two answers, in order, in every run', () => {
  const first = new Rounds(systemWorld)
  ask(first, 'who')
  first.learn(answer(first.next(none), { who: no }))
  const second = ask(first, 'who')
  const state = first.next(none)
  first.learn(answer(state, { who: yes }))
  assert.equal(second.got, yes)
  const again = new Rounds(systemWorld, state)
  again.learn(answer(state, { who: yes }))
  assert.equal([ask(again, 'who').got, ask(again, 'who').got], [no, yes])
})

test('an answer to another kind of question is none', () => {
  const first = new Rounds(systemWorld)
  ask(first, 'x', 'roots/list')
  const state = first.next(none)
  const again = new Rounds(systemWorld, state)
  again.learn(answer(state, { x: { roots: [] } }))
  assert.is(ask(again, 'x').got, undefined)
  assert.equal([...again.next(none).asked], [['x', elicit]])
})

test('changes of an answer by the handler stay in that run', () => {
  const first = new Rounds(systemWorld)
  ask(first, 'who')
  const state = first.next(none)
  first.learn(answer(state, { who: yes }))
  const again = new Rounds(systemWorld, first.next(none))
  const { content } = ask(again, 'who').got as typeof yes
  content.name = 'Bob'
  const result = { action: 'accept', content: { name: 'Ada' } }
  assert.equal(again.next(none).answers.get('who'), [{ method: elicit, result }])
})

test('answers that nobody asked for are ignored, missing ones are asked again', () => {
  const rounds = new Rounds(systemWorld)
  const [a, b] = [ask(rounds, 'a'), ask(rounds, 'b')]
  const state = rounds.next(none)
  const answers = answer(state, { a: yes, c: 7 as never, __proto__: yes, toString: yes })
  assert.equal([...answers.keys()], ['a'])
  rounds.learn(answers)
  assert.equal([a.got, b.got, [...rounds.next(none).asked.keys()]], [yes, undefined, ['b']])
  assert.is(readAnswers(state.asked, undefined).size, 0)
})

test('a malformed answer is refused by key', () => {
  const asked = new Map<string, Question>([
    ['a', elicit],
    ['b', 'roots/list'],
    ['c', 'sampling/createMessage'],
  ])
  const bad: [string, unknown][] = [
    ['a', { action: 'maybe' }],
    ['a', {}],
    ['a', [yes]],
    ['a', null],
    ['b', yes],
    ['b', { roots: [{ name: 'x' }] }],
    ['c', { role: 'assistant' }],
  ]
  for (const [key, value] of bad) {
    const read = () => readAnswers(asked, { [key]: value })
    assert.throws(read, (error: { code: number; message: string }) => {
      assert.is(error.code, -32602)
      return error.message.startsWith(`inputResponses["${key}"]: `)
    })
  }
})

test('a round without an answer is asked once more, and is no new one', () => {
  const first = new Rounds(systemWorld)
  ask(first, 'a')
  const state = first.next(none)
  assert.is(first.next(none).round, 1)
  const again = new Rounds(systemWorld, state)
  ask(again, 'a')
  assert.is(again.next(none).round, 1)
  again.learn(answer(state, { a: yes }))
  assert.is(again.next(none).round, 2)
})

test('there are 100 questions of a round and 25 rounds', () => {
  const many = new Rounds(systemWorld)
  for (let count = 0; count < 100; count++) ask(many, `q${count}`)
  assert.throws(() => ask(many, 'one more'), /100 questions/)
  const rounds = new Rounds(systemWorld)
  for (let round = 1; round <= 25; round++) {
    ask(rounds, 'again')
    const state = rounds.next(none)
    assert.is(state.round, round)
    rounds.learn(answer(state, { again: no }))
  }
  assert.throws(() => rounds.next(none), /25 rounds/)
})

test.run()
