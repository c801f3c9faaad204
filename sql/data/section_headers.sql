-- Headers of rendered sections by language. Reference data, applied with the functions; loom.profile
-- reads this very file.

delete from loom.section_header;
insert into loom.section_header (section, language, header) values
  ('user_profile', 'en', 'User profile:'),
  ('user_profile', 'ru', 'Профиль пользователя:'),
  ('user_profile', 'de', 'Profil des Nutzers:'),
  ('user_profile', 'fr', 'Profil de l''utilisateur :'),
  ('user_profile', 'es', 'Perfil del usuario:'),
  ('user_profile', 'ja', 'ユーザープロフィール：'),
  ('user_profile', 'zh', '用户画像：'),
  ('history', 'en', 'Conversation history:'),
  ('history', 'ru', 'История разговора:'),
  ('history', 'de', 'Bisheriges Gespräch:'),
  ('history', 'fr', 'Historique de la conversation :'),
  ('history', 'es', 'Historial de la conversación:'),
  ('history', 'ja', '会話の履歴：'),
  ('history', 'zh', '对话历史：');
