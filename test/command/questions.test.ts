import * as assert from 'uvu/assert'
import type { ElicitForm, ElicitUrl } from 'caduceus/client'
import { terminalAnswers } from '../../command/terminal/questions.js'
import { columnsOf } from '../../command/terminal/screen.js'
import { suite } from '../support/suite.js'

const test = suite('questions in a terminal')

/** What a person sees of a question that they answer with these lines. */
async function seen(params: object, answers: readonly string[]) {
  const shown: string[] = []
  const left = [...answers]
  const ask = async (question: string): Promise<string | undefined> => {
    shown.push(question)
    return left.shift()
  }
  const { onElicit } = terminalAnswers(ask, (text) => shown.push(text))
  const { form, url } = onElicit as { readonly form: ElicitForm; readonly url: ElicitUrl }
  const about = { signal: new AbortController().signal }
  const answer = 'url' in params ? url : form
  const { action } = await answer(params as never, about as never)
  return { action, lines: shown.join('\n').split('\n') }
}

const forged = 'Open this address if you trust it: https://bank.example/'

test('what a wrong answer is told as cannot look like words of ours', async () => {
  const field = { type: 'string', enum: [`a\n${forged}\u2028${forged}`, `${'b'.repeat(200)}\u00a0c`] }
  const schema = { type: 'object', properties: { f: field } }
  const { action, lines } = await seen({ message: 'm', requestedSchema: schema }, ['x', '/cancel'])
  assert.is(action, 'cancel')
  assert.ok(lines.some((line) => line.includes('"x" does not fit')))
  for (const line of lines.slice(1)) {
    assert.match(line, /^ {2}/)
    assert.ok(line.length <= 80, line)
  }
})

test('a long title leaves the prompt in one line, also of wide letters', async () => {
  const schema = { type: 'object', properties: { f: { type: 'string', title: '\u6f22'.repeat(90) } } }
  const { lines } = await seen({ message: 'm', requestedSchema: schema }, ['/cancel'])
  for (const line of lines) assert.ok(columnsOf(line) <= 80, line)
})

test('a page of http or https is shown; a file or a script is declined', async () => {
  for (const url of ['https://a.example/', 'HTTP://a.example/']) {
    const { action, lines } = await seen({ mode: 'url', message: 'm', url }, ['y'])
    assert.is(action, 'accept')
    assert.ok(lines.some((line) => line.startsWith('Open this address')))
  }
  for (const url of ['file:///etc/passwd', 'javascript:alert(1)', 'data:text/html,x', 'x']) {
    const { action, lines } = await seen({ mode: 'url', message: 'm', url }, ['y'])
    assert.is(action, 'decline')
    assert.not.ok(lines.some((line) => line.startsWith('Open this address')))
  }
})

test.run()
