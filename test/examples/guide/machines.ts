import { connectionMachine, sessionMachine } from 'caduceus/testing'
import { getShortestPaths } from 'xstate/graph'

// both machines are those that run; a tool for xstate draws them, or makes tests of them
console.log(Object.keys(sessionMachine.states).join(' '))
console.log(Object.keys(connectionMachine.states).join(' '))
const events = [{ type: 'initialized' }, { type: 'restored' }, { type: 'closed' }] as const
for (const { state, steps } of getShortestPaths(sessionMachine, { events: [...events] }))
  console.log(state.value, 'after', steps.length - 1)
