import * as assert from 'uvu/assert'
import { owners } from '../../../../scripts/sim/history/checkers/owners.js'
import { suite } from '../../../support/suite.js'
import { kindsOf, ran, story, type Told } from './_story.js'

const test = suite('histories: owners')
const opened = (program: string): Told => ({ type: 'opened', program, session: 'l' })
const restored = (program: string): Told => ({ type: 'restored', program, session: 'l' })
const released = (program: string): Told => ({ type: 'released', program, session: 'l' })
const ended = (program: string): Told => ({ type: 'ended', program, session: 'l' })
const saved = (program: string): Told => ({ type: 'saved', program, session: 'l', elements: [] })
const died = (program: string): Told => ({ type: 'died', program })
const ranIn = (program: string, run: string): Told => ran(run, { program, run, session: 'l' })

test('accepts a session that moves from program to program', () => {
  const history = story(
    opened('s1'),
    ranIn('s1', '1'),
    saved('s1'),
    released('s1'),
    restored('s2'),
    ranIn('s2', '2'),
    died('s2'),
    restored('s1'),
    saved('s1'),
    ended('s1'),
  )
  assert.equal(kindsOf(owners, history), [])
})

test('finds a session in two programs, or twice in one', () => {
  assert.equal(kindsOf(owners, story(opened('s1'), restored('s2'))), ['two owners'])
  assert.equal(kindsOf(owners, story(opened('s1'), restored('s2')), { owners: 'turns' }), [])
  assert.equal(kindsOf(owners, story(opened('s1'), restored('s1'))), ['begun twice'])
  assert.equal(kindsOf(owners, story(opened('s1'), died('s2'), restored('s2'))), ['two owners'])
})

test('finds a session opened or restored while it is there', () => {
  assert.equal(kindsOf(owners, story(opened('s1'), released('s1'), opened('s2'))), ['opened twice'])
  assert.equal(kindsOf(owners, story(opened('s1'), ended('s1'), restored('s2'))), ['came back after its end'])
})

test('a program may finish a save after release, unless another one owns the session', () => {
  assert.equal(kindsOf(owners, story(opened('s1'), released('s1'), saved('s1'))), [])
  const taken = [opened('s1'), released('s1'), restored('s2'), released('s2')]
  assert.equal(kindsOf(owners, story(...taken, saved('s1'))), ['saved without owning'])
  assert.equal(kindsOf(owners, story(opened('s1'), released('s1'), ranIn('s1', '1'))), ['ran without owning'])
})

test('finds a program that runs or saves the session of another', () => {
  const lost = [opened('s1'), released('s1'), restored('s2')]
  assert.equal(kindsOf(owners, story(...lost, ranIn('s1', '1'))), ['ran without owning'])
  assert.equal(kindsOf(owners, story(...lost, saved('s1'))), ['saved without owning'])
  assert.equal(kindsOf(owners, story(...lost, ranIn('s1', '1')), { owners: 'turns' }), [])
  assert.equal(kindsOf(owners, story(...lost, saved('s1')), { owners: 'turns' }), ['saved without owning'])
  assert.equal(kindsOf(owners, story(opened('s1'), ended('s1'), saved('s1'))), ['saved without owning'])
  assert.equal(kindsOf(owners, story(...lost, saved('s1')), { ordered: false }), [])
})

test('finds a program that still runs what another one took from it, once all is calm', () => {
  const calm = (program: string): Told => ({ type: 'census', program, when: 'calm', counts: {} })
  const taken = [opened('s1'), restored('s2')]
  const kinds = (...events: readonly Told[]) =>
    kindsOf(owners, story(...taken, ...events), { owners: 'fenced' })
  assert.equal(kinds(calm('s1'), calm('s2')), ['kept after its loss'])
  assert.equal(kinds(released('s1'), calm('s1'), calm('s2')), [])
  assert.equal(kinds(died('s1'), calm('s1'), calm('s2')), [])
  // it may have it back
  assert.equal(kinds(released('s2'), calm('s1')), [])
  assert.equal(kinds(ended('s2'), calm('s1')), [])
})

test.run()
