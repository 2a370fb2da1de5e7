import { testScale } from './scale.testing.ts';

testScale({ machines: 6, aliases: 50, looks: 60 });
