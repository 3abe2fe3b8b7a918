import { spawnSync } from 'node:child_process'
import * as assert from 'uvu/assert'
import {
  ClockTime,
  parseDate,
  parseNaive,
  parseTime,
  parseZoned,
} from '../../../../protocol/schema/fields/calendar.js'
import { suite } from '../../../support/suite.js'

const test = suite('protocol/schema/fields/calendar')

test('days of the calendar are read as they are written', () => {
  for (const text of ['2024-01-15', '2024-02-29', '2000-02-29', '0001-12-31'])
    assert.is(parseDate(text)?.toString(), text)
  for (const text of [
    '2023-02-29',
    '1900-02-29',
    '2024-13-01',
    '2024-00-01',
    '2024-04-31',
    '2024-1-1',
    '2024-01-15Z',
    '',
  ])
    assert.is(parseDate(text), undefined, text)
})

test('times of day keep their fraction', () => {
  const cases = [
    ['14:30', '14:30:00'],
    ['14:30:00.250', '14:30:00.25'],
    ['00:00:00.000000001', '00:00:00.000000001'],
  ]
  for (const [text, written] of cases) assert.is(parseTime(text ?? '')?.toString(), written)
  for (const text of ['24:00:00', '12:60:00', '12:00:60', '1:00', '12:00:00Z'])
    assert.is(parseTime(text), undefined, text)
})

test('a moment keeps its offset and is the same instant everywhere', () => {
  const moment = parseZoned('2024-01-15T14:30:00.5+05:30')
  assert.is(moment?.toString(), '2024-01-15T14:30:00.5+05:30')
  assert.is(moment?.toDate().toISOString(), '2024-01-15T09:00:00.500Z')
  assert.is(parseZoned('2024-01-15T23:30:00-01:00')?.toDate().toISOString(), '2024-01-16T00:30:00.000Z')
  assert.is(parseZoned('0099-01-15T00:00:00Z')?.toDate().toISOString(), '0099-01-15T00:00:00.000Z')
  for (const text of [
    '2024-01-15T14:30:00',
    '2024-01-15T14:30:00+24:00',
    '2024-01-15',
    '2024-01-15T14:30:00+',
  ])
    assert.is(parseZoned(text), undefined, text)
})

test('a local date-time has no zone', () => {
  assert.is(parseNaive('2024-01-15T14:30')?.toString(), '2024-01-15T14:30:00')
  assert.is(JSON.stringify({ at: parseNaive('2024-01-15T14:30:00') }), '{"at":"2024-01-15T14:30:00"}')
  for (const text of ['2024-01-15T14:30:00Z', '2024-01-15T14:30:00+01:00', '2024-01-15'])
    assert.is(parseNaive(text), undefined, text)
})

test.slow('no value depends on the local time zone', () => {
  const program = `
    const { parseDate, parseZoned } = await import(process.argv[1])
    process.stdout.write([parseDate('2024-03-10'), parseZoned('2024-03-10T02:30:00Z').toDate().toISOString()].join(' '))`
  const module = new URL('../../../../protocol/schema/fields/calendar.js', import.meta.url).href
  const zones = ['Pacific/Kiritimati', 'America/Los_Angeles', 'UTC']
  const written = zones.map((TZ) => {
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', program, module], {
      env: { ...process.env, TZ },
    })
    return run.stdout.toString()
  })
  for (const text of written) assert.is(text, '2024-03-10 2024-03-10T02:30:00.000Z')
})

test('a time of day of hour and minute is a full minute', () => {
  const { hour, minute, second, nanosecond } = new ClockTime(14, 30)
  assert.equal([hour, minute, second, nanosecond], [14, 30, 0, 0])
})

test.run()
