create or replace function loom._without_cjk(p_text text) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  return regexp_replace(p_text,
    '[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+',
    ' ', 'g');
end
$$;
comment on function loom._without_cjk(text) is 'A text without what loom._cjk_runs finds in it.';
