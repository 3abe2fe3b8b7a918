import * as assert from 'uvu/assert'
import { McpError, readParams } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/dialects/tool-balance')
const use = (id: string) => ({ type: 'tool_use', id, name: 'n', input: {} })
const result = (toolUseId: string) => ({ type: 'tool_result', toolUseId, content: [] })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const user = (...content: object[]) => ({ role: 'user', content })
const hello = { type: 'text', text: 'hello' }

const balanced: readonly [string, readonly object[]][] = [
  ['one use and its result', [user(hello), assistant(use('1')), user(result('1'))]],
  [
    'results in another order',
    [assistant(use('1'), use('2')), user(result('2'), result('1')), assistant(hello)],
  ],
  ['text beside a use', [assistant(hello, use('1')), user(result('1')), user(hello)]],
  [
    'blocks that stand alone',
    [
      { role: 'assistant', content: use('1') },
      { role: 'user', content: result('1') },
    ],
  ],
  [
    'one use after the other',
    [assistant(use('1')), user(result('1')), assistant(use('2')), user(result('2'))],
  ],
]

for (const [what, messages] of balanced) {
  test(`a sampling conversation may have ${what}`, () =>
    readParams('sampling/createMessage', { messages, maxTokens: 1 }))
}

const unbalanced: readonly [string, readonly object[], string][] = [
  [
    'text beside a result',
    [assistant(use('1')), user(result('1'), hello)],
    '[1]: expected tool results and nothing else',
  ],
  ['no result', [assistant(use('1')), user(hello)], '[1]: expected tool results and nothing else'],
  ['an empty message for a result', [assistant(use('1')), user()], '[1]: expected one tool_result for every'],
  ['a use at the end', [assistant(use('1'))], ': expected a tool_result for every tool_use'],
  [
    'a result too few',
    [assistant(use('1'), use('2')), user(result('1'))],
    '[1]: expected one tool_result for every',
  ],
  [
    'a result twice',
    [assistant(use('1'), use('2')), user(result('1'), result('1'))],
    '[1]: expected one tool_result for',
  ],
  ['a result of nothing', [user(result('1'))], '[0]: expected one tool_result for every'],
  [
    'a result of another use',
    [assistant(use('1')), user(result('2'))],
    '[1]: expected one tool_result for every',
  ],
  [
    'a result by the assistant',
    [assistant(use('1')), assistant(result('1'))],
    '[1]: expected tool results from the user',
  ],
  [
    'a use by the assistant twice',
    [assistant(use('1')), assistant(use('2'))],
    '[1]: expected tool results from the',
  ],
]

for (const [what, messages, problem] of unbalanced) {
  test(`a sampling conversation with ${what} is -32602 (trap 88)`, () => {
    assert.throws(
      () => readParams('sampling/createMessage', { messages, maxTokens: 1 }),
      (error: unknown) =>
        error instanceof McpError &&
        error.code === -32602 &&
        error.message.startsWith(`sampling/createMessage: params.messages${problem}`),
    )
  })
}

test('100,000 tool uses in a conversation are checked in linear time', () => {
  const ids = Array.from({ length: 100_000 }, (_, index) => String(index))
  const messages = [assistant(...ids.map(use)), user(...ids.reverse().map(result))]
  readParams('sampling/createMessage', { messages, maxTokens: 1 })
})

test.run()
