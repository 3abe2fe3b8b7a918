import { direct } from './_rounds.js'
import { suiteOfRounds } from './_rounds-suite.js'

suiteOfRounds(direct(true)).run()
suiteOfRounds(direct(false)).run()
