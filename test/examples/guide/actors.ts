import {
  CaduceusError,
  defineActor,
  type ExitReason,
  formatReason,
  ignore,
  refuse,
  RuntimeError,
  startActor,
} from 'caduceus/runtime'

const account = defineActor({
  name: 'account',
  init: (balance: number) => (balance < 0 ? ignore : { balance }), // declines to start
  call: {
    read: (state) => state.balance,
    withdraw(state, amount: number) {
      // refuses the caller, and lives on; what is thrown would end the actor
      if (amount > state.balance) return refuse(new RangeError(`only ${state.balance} left`))
      state.balance -= amount
      return state.balance
    },
  },
  cast: {
    close() {
      throw new Error('the bank is on fire')
    },
  },
})

const ref = await startActor(account, 100, { logger: false })
console.log(await ref.call('withdraw', 30))
console.log(await ref.call('withdraw', 300).catch((error: Error) => error.message))
console.log(await ref.call('read'))

const ended = new Promise<ExitReason>((resolve) => ref.onExit(resolve))
ref.cast('close')
console.log(formatReason(await ended))
const late = await ref.call('read').catch((error: unknown) => error)
console.log(late instanceof RuntimeError && late instanceof CaduceusError && late.code)
console.log(await startActor(account, -1).catch(({ code }: RuntimeError) => code))
