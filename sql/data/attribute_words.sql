-- Words that speak of protected attributes, whole words in any case. Lower case, since
-- texts are lowered by the database's own locale. Reference data, applied with the functions.

delete from loom.attribute_word;
insert into loom.attribute_word (attribute, language, word)
select attribute, language, unnest(string_to_array(words, ' ')) from (values
  ('health', 'en', 'diabetes diabetic cancer tumor tumour asthma epilepsy hiv aids depression depressed anxiety bipolar schizophrenia autism autistic adhd pregnant pregnancy miscarriage disability disabled dementia alzheimer allergy allergic medication chemotherapy therapy psychiatrist diagnosis diagnosed hypertension migraine'),
  ('health', 'de', 'diabetiker krebs tumor asthma epilepsie depression depressionen angststörung bipolar schizophrenie autismus autistisch schwanger schwangerschaft fehlgeburt behinderung behindert demenz allergie allergisch medikament medikamente chemotherapie psychiater diagnose diagnostiziert bluthochdruck migräne krankheit erkrankung'),
  ('health', 'ru', 'диабет рак опухоль астма эпилепсия вич спид депрессия тревожность шизофрения аутизм беременна беременность инвалид инвалидность деменция аллергия лекарство химиотерапия психиатр диагноз гипертония мигрень болезнь'),
  ('religion', 'en', 'christian christianity catholic protestant orthodox muslim islam islamic jewish judaism hindu hinduism buddhist buddhism sikh atheist agnostic mormon church mosque synagogue baptised baptized ramadan'),
  ('religion', 'de', 'christ christin christlich katholisch katholik katholikin evangelisch orthodox muslim muslimin islam islamisch jude jüdin jüdisch judentum hindu buddhist buddhistisch atheist atheistin agnostiker kirche moschee synagoge getauft ramadan'),
  ('religion', 'ru', 'христианин христианка католик православный православная мусульманин мусульманка ислам иудей иудаизм индуист буддист атеист атеистка церковь мечеть синагога крещён рамадан'),
  ('ethnicity', 'en', 'ethnicity ethnic hispanic latino latina caucasian aboriginal indigenous romani kurdish uyghur mestizo biracial'),
  ('ethnicity', 'de', 'ethnie ethnisch ethnizität hautfarbe roma sinti kurdisch kurde kurdin indigen migrationshintergrund'),
  ('ethnicity', 'ru', 'этнический этническая этнос национальность цыган цыганка курд курдянка метис коренной'),
  ('politics', 'en', 'democrat republican conservative liberal socialist communist libertarian anarchist leftist rightist tory labour voted vote votes politically'),
  ('politics', 'de', 'cdu csu spd afd fdp sozialist sozialdemokrat kommunist konservativ anarchist linksradikal rechtsradikal gewählt wähler wählerin parteimitglied'),
  ('politics', 'ru', 'коммунист социалист либерал консерватор анархист единоросс оппозиционер голосовал голосовала партия'),
  ('sexuality', 'en', 'gay lesbian bisexual homosexual heterosexual asexual queer transgender transsexual nonbinary pansexual lgbt lgbtq'),
  ('sexuality', 'de', 'schwul lesbisch lesbe bisexuell homosexuell heterosexuell asexuell queer transgender transsexuell nichtbinär pansexuell'),
  ('sexuality', 'ru', 'гей лесбиянка бисексуал гомосексуал гетеросексуал асексуал квир трансгендер лгбт'),
  ('union', 'en', 'unionised unionized unionist'),
  ('union', 'de', 'gewerkschaft gewerkschafter gewerkschafterin gewerkschaftsmitglied verdi'),
  ('union', 'ru', 'профсоюз профсоюзный'),
  ('biometric', 'en', 'fingerprint fingerprints faceprint voiceprint iris retina biometric biometrics dna genome genetic'),
  ('biometric', 'de', 'fingerabdruck fingerabdrücke iris netzhaut biometrisch biometrie dna genom genetisch'),
  ('biometric', 'ru', 'отпечаток отпечатки радужка сетчатка биометрия биометрический днк геном генетический'),
  ('criminal', 'en', 'convicted conviction felon felony misdemeanor arrested prison jail imprisoned parole probation'),
  ('criminal', 'de', 'vorbestraft verurteilt verurteilung straftat haft gefängnis inhaftiert bewährung verhaftet'),
  ('criminal', 'ru', 'судим судимость осуждён осужден преступник тюрьма арест арестован заключённый')
) as listed (attribute, language, words);
