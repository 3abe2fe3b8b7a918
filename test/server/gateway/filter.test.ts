import * as assert from 'uvu/assert'
import { filterOf } from '../../../server/gateway/filter.js'
import {
  Readings,
  readingsOf,
  readingsOfPattern,
  readingsWithin,
  sameAs,
} from '../../../server/gateway/readings.js'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'

const test = suite('gateway: filter')

/** A pattern that is denied, and what some server reads as an address that fits it. */
const denied: Readonly<Record<string, readonly string[]>> = {
  'file:///tmp/x/secret/*': [
    'file:///tmp/x/secret/key',
    'file:///tmp/x//secret/key',
    'file:////tmp/x/secret/key',
    'file://///tmp/x/secret///key',
    'file:/tmp/x/secret/key',
    'file:tmp/x/secret/key',
    'file://tmp/x/secret/key',
    'file://localhost/tmp/x/secret/key',
    'file://elsewhere/tmp/x/secret/key',
    'FILE:///tmp/x/secret/key',
    '<file:///tmp/x/secret/key>',
    'URL:file:///tmp/x/secret/key',
    '<url:file:///tmp/x/secret/key>',
    'jar:file:/tmp/x/secret/key',
    'view-source:file:///tmp/x/secret/key',
    'file:///TMP/x/Secret/key',
    'file:///tmp/x/\\secret/key',
    'file:///tmp/x\u2215secret/key',
    'file:///tmp/x/open/%c0%ae%c0%ae/secret/key',
    'file:///tmp/x/open/..%C0%AFsecret/key',
    'file:///tmp/x/open/%u002e%u002E/secret/key',
    'file:///tmp/x\\secret\\key',
    'file:\\\\\\tmp\\x\\secret\\key',
    'file:///tmp/x/%5csecret/key',
    'file:///tmp/x/%2fsecret/key',
    'file:///tmp/x/se%63ret/key',
    'file:///tmp/x/se%2563ret/key',
    'file:///tmp/x/y%FF%2f%2e%2e%2fsecret/key',
    'file:///tmp/x/se%252563ret/key',
    'file%3A///tmp/x/secret/key',
    'fil%65%253A///tmp/x/secret/key',
    'f\tile:///tmp/x/secret/key',
    'file:///tmp/x/./secret/key',
    'file:///tmp/x/open/../secret/key',
    'file:///tmp/x/open/%2e%2e/secret/key',
    'file:///tmp/x/open/%252e%252e/secret/key',
    'file:///tmp/x/open/..%2fsecret/key',
    'file:///tmp/x/open\\..\\secret\\key',
    'file:///tmp/x/open//../secret/key',
    'file:///tmp/x/open/.. /secret/key',
    'file:///tmp/x/open?/../secret/key',
    'file:///tmp/x/open#/../secret/key',
    'file:///tmp/x/open;v=1/../secret/key',
    'file:///tmp/x/secret./key',
    'file:///tmp/x/secret%20/key',
    'file:///tmp/x/secret;v=1/key',
    'file:///tmp/x/secret::$INDEX_ALLOCATION/key',
    'file:///tmp/x/se\tcret/key',
    'file:///tmp/x/se%0Acret/key',
    'file:///tmp/x/se\u200bcret/key',
    ' file:///tmp/x/secret/key',
    'file:///tmp/x/ｓecret/key',
    'file:///tmp/x／secret/key',
    'file:///tmp/x/open/．．/secret/key',
    'file：///tmp/x/secret/key',
    'up+file:///tmp/x//secret/key',
  ],
  'file:///secret': [
    'file:///secret/',
    'file:///secret//',
    'file:///secret/.',
    'file:///secret?x',
    'file:///secret%3Fx',
    'file:///secret#x',
    'file:///secret%23x',
    'file:///secret?*',
    'file:///secret%00.txt',
    'file:///secret\0.txt',
    'file:///secret\0',
    'file:///secret ',
    'file:///secret...',
    'file:///secret::$DATA',
    'file:///x/../../../secret',
  ],
  'file:///Caf\u00e9': ['file:///Cafe\u0301', 'file:///caf%C3%A9', 'file:///cafe%CC%81'],
  'file:///Cafe\u0301': ['file:///Caf\u00e9'],
  'db://users/*': [
    'db://users/1',
    'db://USERS/1',
    'DB://Users/1',
    'db://x@users/1',
    'db://x:y@users:80/1',
    'db://a@b@users/1',
    'db://x?@users/1',
    'db://x#@users/1',
    'db://users\\@x/1',
    'db://users:80/1',
    'db://users:/1',
    'db://users./1',
    'db://users.:80/1',
    'db://users//1',
    'db:///users/1',
    'db://x/../users/1',
    'db://x/%2e%2e/users/1',
    'db://x/y/../../users/1',
    'db://[users]/1',
    'db:////users/1',
    'db:/users/1',
    'db:users/1',
    'db:\\\\users\\1',
    'db://users\\1',
    'db://users%2f1/x',
    'db://us%65rs/1',
    'db://us%2565rs/1',
    'db://./users/1',
    'db://users/./1',
    'db://users/../users/1',
    'db://ｕsers/1',
    'db://users/1?x',
    'db://users/1#x',
    'a+db://users/1',
    'a+b+db://x@USERS/1',
    'a+b+c+d+e+f+g+h+db://users/1',
    // more names than there are gateways
    'a+b+c+d+e+f+g+h+i+db://groups/1',
  ],
  'https://h.example/secret': [
    'https://h.example:443/secret',
    'https://h.example:8443/secret',
    'https://H.Example./secret',
    'https://me@h.example/secret',
    'https:h.example/secret',
    'https:/h.example\\secret',
    'https://h。example/secret',
  ],
  'db://127.0.0.1/*': ['db://0x7f.1/x', 'db://2130706433/x', 'db://127.1/x'],
  // the pattern itself may be written in another way
  'FILE://localhost/tmp//a/../%73ecret': ['file:///tmp/secret', 'file:///tmp/./secret'],
  'db://ada@users/*': ['db://ada@users/1', 'db://ADA@users./1'],
  '*/secret/*': ['file:///x//secret//y', 'file:///x\\secret\\y'],
}

test('deny holds for an address in whatever way it is written', () => {
  for (const [pattern, addresses] of Object.entries(denied)) {
    const { denies } = filterOf({ deny: [pattern] })
    for (const address of addresses) assert.ok(isDenied(denies, address), `${pattern} ${address}`)
  }
})

test('a denied template holds for all that is like it, listed or not', () => {
  const deny = ['user://{id}', 'file:///secret/{+path}', 'wild://{path*}', 'odd://{user-id}']
  const { denies, offers } = filterOf({ deny })
  for (const address of ['wild://a/b/c', 'wild://a%2fb', 'odd://ada', 'f+user://ada', 'in+f+user://ada'])
    assert.ok(isDenied(denies, address), address)
  for (const address of [
    'user://ada',
    'user://ada lovelace',
    "USER://o'brien",
    'file:///secret/a/b',
    'up+user://ada',
  ]) {
    assert.ok(isDenied(denies, address), address)
    assert.not(offers(address), address)
  }
  for (const address of ['user://ada/notes', 'users://ada', 'file:///open/a']) {
    assert.not(isDenied(denies, address), address)
    assert.ok(offers(address), address)
  }
})

test('deny holds behind the name of any server of a gateway further in', () => {
  const { denies, offers } = filterOf({ deny: ['file:///secret', 'db://users/1'] })
  assert.equal(['b+file:///secret', 'my_server+db://users/1', 'b+file:///open'].map(offers), [
    false,
    false,
    true,
  ])
  for (const name of ['f', 'my_server', '1srv', 'a b', 'x+my_server'])
    for (const address of ['file:///pub/../secret', 'file:////pub/..\\%73ecret?y', 'db://ada@USERS:80/1']) {
      const within = readingsWithin(`${name}+${address}`)
      assert.ok(within === undefined || denies(within), `${name}+${address}`)
    }
  assert.not(denies(readingsWithin('my_server+file:///open') ?? []))
})

test('a denied template holds for what is like another way to write it', () => {
  const { denies } = filterOf({ deny: ['db://h//x/{id}', 'db://h/my%20notes/{id}'] })
  for (const address of ['db://h//x/1', 'db://h/x/1', 'DB:h/x/%31', 'db://h/my notes/1'])
    assert.ok(isDenied(denies, address), address)
  for (const address of ['db://h/x/1/2', 'db://h/y/1', 'db://h/notes/1'])
    assert.not(isDenied(denies, address), address)
})

test('a pattern that can be written in too many ways denies all, and allows no more', () => {
  const odd = 'DB://H./%255c%2541/a%252fb//./ｃ%c0%af%25u0041\\d/'
  assert.is(sameAs(`${odd}*`), undefined)
  assert.is(readingsOfPattern(`${odd}*`), undefined)
  const { denies, offers } = filterOf({ deny: [`${odd}*`] })
  for (const address of [`${odd}1`, 'db://h/any']) {
    assert.ok(isDenied(denies, address), address)
    assert.not(offers(address), address)
  }
  assert.ok(offers('tool'))
  for (const address of ['db://h/any', 'db://h/', `${odd}1`])
    assert.not(isAllowed(`${odd}*`, address), address)
})

test('where addresses are denied, one of a scheme that nobody names is not judged', () => {
  const listed = new Set(['file', 'in+note'])
  const { judges } = filterOf({ deny: ['file:///secret/*', 'delete_*'], allow: ['git://*'] })
  for (const uri of ['file:///a', 'FILE:/a', 'git://x', 'in+note://1', 'u+file:///a', 'in+u+file:///a'])
    assert.is(judges(uri, listed), true, uri)
  for (const uri of [
    '/secret/b',
    '///secret/b',
    'u+/secret/b',
    'x:/secret/b',
    'x:///secret/b',
    'u+x:///secret/b',
  ])
    assert.is(judges(uri, listed), false, uri)
  for (const uri of [
    'http://h/secret/b',
    ' file:///secret/b',
    'fil%65:///secret/b',
    'note://1',
    'file+x:/secret/b',
  ])
    assert.is(judges(uri, listed), false, uri)
  // nor is any but those of a server that lists none, or whose lists could not be had
  const { judges: blind } = filterOf({ deny: ['secret://1'] })
  assert.equal(
    ['user://1', '1', 'secret://2'].map((uri) => blind(uri, new Set())),
    [false, false, true],
  )
  // names of tools and patterns without a scheme say nothing of schemes
  for (const deny of [['delete_*'], ['*/secret/*'], []])
    assert.is(filterOf({ deny }).judges('x:///secret/b', listed), true, String(deny))
})

test('deny holds for nothing else', () => {
  const others: Readonly<Record<string, readonly string[]>> = {
    'file:///tmp/x/secret/*': ['file:///tmp/x/secret', 'file:///tmp/x/secrets/1', 'file:///tmp/x/open'],
    'db://users/*': [
      'db://groups/1?q=a+b+c+d+e+f+g+h+i+j',
      'db://groups/1',
      'db://users2/1',
      'db://groups/users/1',
      'file:///users/1',
    ],
    'db://ada@users/*': ['db://users/1', 'db://bob@users/1'],
    'https://h/?key=*': ['https://h/', 'https://h/?q=1'],
    'https://h:8443/*': ['https://h/1', 'https://h:9000/1'],
    read: ['READ', 'read ', 'reads', 'files+read'],
  }
  for (const [pattern, addresses] of Object.entries(others)) {
    const { denies } = filterOf({ deny: [pattern] })
    for (const address of addresses) assert.not(isDenied(denies, address), `${pattern} ${address}`)
  }
})

test('allow takes an address that is allowed in each reading', () => {
  const taken: readonly (readonly [pattern: string, ...addresses: string[]])[] = [
    ['file:///open/*', 'file:///open/a', 'file:///open/A b', 'file:///open/a%20b.txt', 'file:///open/x/../y'],
    ['file:///open/*', 'file:///open/a?q=1#f', 'file:///open/caf\u00e9', 'file:///open/a+b'],
    ['file:///caf\u00e9', 'file:///caf\u00e9'],
    ['file:///cafe\u0301', 'file:///cafe\u0301'],
    ['https://me@h:8443/*', 'https://me@h:8443/x?y=z'],
    ['https://h:8443*', 'https://h:8443/x'],
    ['https://h/find?q=*', 'https://h/find?q=x'],
    ['DB://Users/*', 'DB://Users/1'],
    ['*', 'file:///x/../y', 'db://users:80/1'],
  ]
  for (const [pattern, ...addresses] of taken)
    for (const address of addresses) assert.ok(isAllowed(pattern, address), `${pattern} ${address}`)
})

test('allow takes no address that some server reads as another one', () => {
  const refused: readonly (readonly [pattern: string, ...addresses: string[]])[] = [
    [
      'file:///open/*',
      'file:///open/../secret',
      'file:///open/%2e%2e/secret',
      'file:///open/%252e%252e/secret',
    ],
    [
      'file:///open/*',
      'file:///open/\\..\\..\\secret',
      'file:///open/．．/secret',
      'file:///open//../../secret',
    ],
    ['file:///open/*', 'file:///open/x?/../../../secret', 'file:///open/x#/../../../secret'],
    ['file:///op*', 'file:///op/../secret', 'file:///op\\../secret', 'file:///op%2f..%2fsecret'],
    ['db://open*', 'db://open@users/1', 'db://open:x@users/1', 'db://open?@users/1', 'db://open\\@users/1'],
    ['https://h:8443*', 'https://h:8443@evil/'],
    ['*.md', 'file:///secret?.md', 'file:///secret%00.md', 'file:///secret#.md', 'file:///secret;.md'],
  ]
  for (const [pattern, ...addresses] of refused)
    for (const address of addresses) assert.not(isAllowed(pattern, address), `${pattern} ${address}`)
})

test('an allowed template takes what it offers, in each reading, and nothing beyond', () => {
  const files = 'file:///pub/{+path}'
  for (const pattern of ['file:///pub/*', files]) {
    for (const address of [
      'file:///pub/a',
      'file:///pub/a/b%20c?x=1',
      'file:///pub/x/../y',
      'file:///pub/a%2Fb',
    ])
      assert.ok(isAllowed(pattern, address, [files]), address)
    for (const address of [
      'file:///pub/../secret',
      'file:///pub/%2e%2e/secret',
      'file:///pub/x\\..\\..\\secret',
    ])
      assert.not(isAllowed(pattern, address, [files]), address)
  }
  assert.ok(isAllowed('https://h:8443/{id}', 'https://h:8443/5', ['https://h:8443/{id}']))
  assert.not(isAllowed('other://{id}', 'note://5', ['note://{id}']))
})

test('an address with too many readings has none, and soon', () => {
  const odd = `A%2541b://U%253A@H.:8443/${'.%252f;x/'.repeat(20)}?%253F#%2523\0%2500\\ ｓ\u200b .`
  assert.is(readingsOf(`db://${'x%2525'.repeat(1 << 18)}`), undefined)
  assert.is(readingsOf(odd), undefined)
  const { offers } = filterOf({ deny: ['nothing://*'] })
  assert.not(offers(odd))
  assert.ok((readingsOf('https://me@H.example:8443/a%20b/?q=x;y#f') ?? []).length > 1)
})

test.slow('of what a server lists so much is judged at a time, and the rest not offered', () => {
  const filter = filterOf({ deny: ['nothing://*'] })
  const odd = Array.from(
    { length: 100 },
    (_, n) => `A%2541b://${n}@H.:8443/${'.%252f;x/'.repeat(20)}?#%2523\\ ｓ.`,
  )
  const list = [...odd, 'note://1']
  const rounds: boolean[] = []
  for (let round = 0; round < 4; round++) {
    filter.renew()
    rounds.push(list.filter(filter.offers).length > 0)
    assert.is(filter.unjudged, Math.max(0, 101 - 33 * (round + 1)))
  }
  assert.equal(rounds, [false, false, false, true])
  // names of tools are none of addresses
  assert.is(odd.filter(filterOf({ deny: ['erase', 'mail.send'] }).offers).length, 100)
  const plain = filterOf({ deny: ['nothing://*'] })
  const many = Array.from({ length: 10_000 }, (_, n) => `file:///docs/of ada/${n}/read me.md`)
  assert.is(many.filter(plain.offers).length, 10_000)
})

test('the readings of an address are found once, whoever asks', () => {
  const read = new Readings()
  const [plain, named] = ['file:///a%20b/../c', 'f+file:///a%20b']
  assert.is(read.of(plain), read.of(plain))
  assert.is(read.within(plain), read.of(plain))
  assert.equal(read.of(plain), readingsOf(plain))
  assert.equal(read.within(named), readingsWithin(named))
  assert.is(read.within(named), read.within(named))
  assert.is(read.within(`${'f+'.repeat(9)}file:///a`), undefined)
})

test('long addresses are read in time that grows with their length', () => {
  const began = cpuTime()
  for (const part of [' ', '.', '/', '../', '%25', '@', ':', '\\', '+', '\t'])
    readingsOf(`db://x/${part.repeat(60_000 / part.length)}y`)
  assert.ok(cpuTime() - began < 5_000)
  const { denies } = filterOf({ deny: ['db://users/*'] })
  const again = cpuTime()
  for (const address of [
    `${'f+'.repeat(30_000)}db://x`,
    `db://x/${'a+'.repeat(30_000)}`,
    `${'+'.repeat(60_000)}:`,
  ])
    isDenied(denies, address)
  assert.ok(cpuTime() - again < 2_000)
})

function isDenied(denies: (names: readonly string[]) => boolean, address: string): boolean {
  const readings = readingsOf(address)
  return readings === undefined || denies(readings)
}

function isAllowed(pattern: string, address: string, fitting: readonly string[] = []): boolean {
  const readings = readingsOf(address)
  return readings !== undefined && filterOf({ allow: [pattern] }).allows(address, readings, fitting)
}

test.run()
