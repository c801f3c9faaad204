create or replace function loom._error_json(p_sqlstate text, p_message text, p_detail text, p_hint text) returns jsonb
language plpgsql stable
as $$
declare
  v_error loom.error_code;
begin
  select * into v_error from loom.error_code where sqlstate = p_sqlstate;
  return jsonb_build_object('status', v_error.http_status, 'error',
    case when p_detail = '' then '{}' else p_detail::jsonb end
      || jsonb_build_object('code', v_error.code, 'message', p_message, 'category', v_error.category,
        'retryable', v_error.retryable, 'hint', p_hint));
end
$$;
comment on function loom._error_json(text, text, text, text) is
  'An LM error as a batch answers it: HTTP status, code, message, category, retryable, hint and the error''s own fields.';
