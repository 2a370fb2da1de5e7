import { testScale } from './scale.testing.ts';

testScale({ machines: 2, aliases: 12, looks: 3 });
